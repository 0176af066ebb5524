// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of a round measure at the same time: one in the job, one per node, or all.
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
    node,     ///< one pair per node
    all,      ///< all pairs of the round
};

/// `isolated`, `node` or `all`; anything else throws Failure.
PairMode pair_mode_named(std::string_view name);
char const *name(PairMode mode) noexcept;

/// A round, with this rank's part in it.
struct PairRound {
    int number;
    std::vector<Pair> pairs;
    int partner = -1;                    ///< this rank's; -1 for a bye
    std::vector<std::vector<Pair>> once; ///< the pairs in groups with at most one pair per node
};
PairRound make_round(Team const &team, int number, std::vector<Pair> pairs);

/// Lets pairs take turns. All other ranks sleep and check rarely: polling would take core time, memory bandwidth or
/// power from the ranks that measure.
class PairTurns {
  public:
    /// `team` and `start` must outlive it. `apart`: pairs of a round load no cable beyond its rate, so that in a
    /// simulator, where messages are costly, they may start some microseconds apart.
    PairTurns(Team const &team, Barrier &start, bool apart = false) : team_(team), start_(start), apart_(apart) {}

    /// The work of a rank with its partner in its turn. The pair's higher rank must finish last.
    using Work = std::function<void(int partner)>;

    /// The background traffic of a rank whose work is done while that of others is not; `over` returns true when all
    /// are done. Only the initiating rank of the pair may call it.
    using Company = std::function<void(int partner, std::function<bool()> const &over)>;

    /// Collective: the pairs of a round, each once. With `company`, pairs that are done keep the network loaded for the
    /// others.
    void take(PairMode mode, PairRound const &round, Work const &work, Company const &company = {});
    /// Collective: pairs one after the other, which may share ranks; `work` also gets the number of the turn. Rank b of
    /// a turn {a, b} finishes last.
    void one_by_one(std::span<Pair const> turns, std::function<void(int turn, int partner)> const &work);

    /// Whether waiting ranks sleep. Not for a first contact: a rank that slept answers late, and no message may wake
    /// it.
    void let_sleep(bool sleep) noexcept { sleep_ = sleep; }

  private:
    void wait_along_tree() const;
    void together(PairRound const &round, Work const &work, Company const &company);
    void one_a_node(PairRound const &round, Work const &work, Company const &company);
    void stay(int partner, Company const &company);
    void take_token(std::span<Pair const> turns, std::size_t turn) const;
    void pass_token(std::span<Pair const> turns, std::size_t turn) const;
    void rest();

    Team const &team_;
    Barrier &start_;
    bool apart_;
    bool sleep_ = true;
};

} // namespace weft
