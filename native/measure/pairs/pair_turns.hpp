// SPDX-License-Identifier: BSD-3-Clause
// Which of the pairs of a round measure at the same time: one pair in the job, one a node, or all.
#pragma once

#include "mpi/team.hpp"
#include "pairs/pair_schedule.hpp"
#include "time/barrier.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

enum class PairMode {
    isolated, ///< one pair in the job
    node,     ///< one pair a node
    all,      ///< all pairs of the round
};

/// `isolated`, `node` or `all`; anything else throws Failure.
PairMode pair_mode_named(std::string_view name);
char const *name(PairMode mode) noexcept;

/// A round as one rank sees it.
struct PairRound {
    int number;
    std::vector<Pair> pairs;
    int partner = -1;                    ///< this rank's; -1 where it has a bye
    std::vector<std::vector<Pair>> once; ///< the pairs in groups with at most one pair a node
};
PairRound make_round(Team const &team, int number, std::vector<Pair> pairs);

/// Lets pairs take turns. Ranks whose turn it is not sleep, and look up rarely: one that polls would take the core,
/// the memory or the power of those who measure.
class PairTurns {
  public:
    /// Both must outlive it.
    PairTurns(Team const &team, Barrier &start) : team_(team), start_(start) {}

    /// What a rank does with its partner when its turn has come. The pair's higher rank must be the one that ends it.
    using Work = std::function<void(int partner)>;

    /// What a rank does once its own work is done and that of others is not; `over` says when all are done. Only the
    /// one of the two that begins may ask.
    using Company = std::function<void(int partner, std::function<bool()> const &over)>;

    /// Collective: the pairs of a round, each once. With `company`, nobody who is measured beside others finishes
    /// alone.
    void take(PairMode mode, PairRound const &round, Work const &work, Company const &company = {});
    /// Collective: pairs one after the other, whether or not they share ranks; `work` is told the turn, too. Of a
    /// turn {a, b} rank b ends it.
    void one_by_one(std::span<Pair const> turns, std::function<void(int turn, int partner)> const &work);

    /// Whether waiting ranks sleep. Not for a first contact: whoever has slept answers late, and nothing may be said
    /// to wake him.
    void let_sleep(bool sleep) noexcept { sleep_ = sleep; }

  private:
    void together(PairRound const &round, Work const &work, Company const &company);
    void one_a_node(PairRound const &round, Work const &work, Company const &company);
    void stay(int partner, Company const &company);
    void take_token(std::span<Pair const> turns, std::size_t turn) const;
    void pass_token(std::span<Pair const> turns, std::size_t turn) const;
    void rest();

    Team const &team_;
    Barrier &start_;
    bool sleep_ = true;
};

} // namespace weft
