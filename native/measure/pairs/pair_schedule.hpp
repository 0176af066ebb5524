// SPDX-License-Identifier: BSD-3-Clause
// The schedule of all pairs of ranks (METHOD 26): a tournament of two levels. Nodes are paired by the circle method;
// while two nodes are paired, their ranks are paired by cyclic shifts. Then the ranks within each node are paired, on
// all nodes at once. weft.kernel.tournament computes the same rounds.
#pragma once

#include <span>
#include <vector>

namespace weft {

/// Two ranks that are paired.
struct Pair {
    int low;
    int high;

    friend bool operator==(Pair const &, Pair const &) = default;
};

/// A tournament of ranks: each pair occurs once, and no rank is in two pairs of a round. Every round is either between
/// nodes or within them. N nodes of r ranks take p - 1 rounds for even r, p for odd r and even N, and p + r if both are
/// odd: then one rank has a bye in every round. Nodes of unequal size are padded with byes to the largest, so that a
/// round may be empty.
class PairSchedule {
  public:
    /// `node_of`: the node of each rank, counted from 0 without a gap.
    explicit PairSchedule(std::span<int const> node_of);

    int rounds() const noexcept { return between_ + within_; }
    /// The first rounds are between nodes, the last ones within them.
    bool is_within(int round) const noexcept { return round >= between_; }
    /// The pairs of a round, sorted by their lower rank. `round` lies in [0, rounds()).
    std::vector<Pair> pairs(int round) const;

  private:
    /// A player of the outer tournament: a node, or half of one if the number of nodes is odd and each can be halved.
    /// Then the round in which the two halves of every node would meet is omitted, and no node has a bye.
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

/// The circle method: the pairs of a round in 0 .. players - 2, for an even number of players.
std::vector<Pair> circle(int players, int round);

} // namespace weft
