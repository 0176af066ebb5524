// SPDX-License-Identifier: BSD-3-Clause
// The order in which all pairs of ranks meet (METHOD 26): a tournament of two levels. Nodes meet by the circle method,
// and while two nodes meet, their ranks do by cyclic shifts; then the ranks of each node meet among themselves, on all
// nodes at once. weft.kernel.pairs.schedule gives the same rounds.
#pragma once

#include <span>
#include <vector>

namespace weft {

/// Two ranks that meet.
struct Pair {
    int low;
    int high;

    friend bool operator==(Pair const &, Pair const &) = default;
};

/// A tournament of ranks: each pair meets once, and nobody meets twice in a round. Every round is of one class, either
/// between nodes or within them. N nodes of r ranks take p - 1 rounds for even r, p for odd r and even N, and p + r
/// where both are odd: then somebody takes a bye in every round. Nodes of unequal size are padded with byes to the
/// largest, so that a round may be empty.
class PairSchedule {
  public:
    /// `node_of`: the node of each rank, counted from 0 without a gap.
    explicit PairSchedule(std::span<int const> node_of);

    int rounds() const noexcept { return between_ + within_; }
    /// The first rounds join nodes, the last ones stay within them.
    bool is_within(int round) const noexcept { return round >= between_; }
    /// The pairs of a round, by their lower rank. `round` lies in [0, rounds()).
    std::vector<Pair> pairs(int round) const;

  private:
    /// What meets in the outer tournament: a node; or half of one, where the number of nodes is odd and each can be
    /// halved. Then the round in which the two halves of every node would meet is left out, and no node has a bye.
    struct Player {
        int node;
        int first; // slot
    };
    Player player(int number) const;
    int rank_at(int node, int slot) const;
    std::vector<Pair> between(int round) const;
    std::vector<Pair> within(int round) const;

    std::vector<std::vector<int>> ranks_of_; // each node's, in their order
    int slots_ = 0;                          // ranks of the largest node
    bool halved_ = false;
    int width_ = 0;   // slots of a player
    int players_ = 0; // with the bye
    int between_ = 0;
    int within_ = 0;
};

/// The circle method: who meets whom in a round of 0 .. players - 2 among an even number of players.
std::vector<Pair> circle(int players, int round);

} // namespace weft
