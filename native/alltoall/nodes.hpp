// SPDX-License-Identifier: BSD-3-Clause
// Placement of ranks on nodes. Pure: no MPI.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace weft::alltoall {

/// Ranks on nodes, in any placement. Nodes are numbered in the order of their lowest ranks.
class Nodes {
  public:
    Nodes() = default;
    /// `label_of_rank[i]`: a number that is the same exactly for the ranks of one node.
    explicit Nodes(std::span<int const> label_of_rank);

    int ranks() const noexcept { return int(node_of_.size()); }
    int count() const noexcept { return int(members_.size()); }
    int node_of(int rank) const { return node_of_[std::size_t(rank)]; }
    /// Index of a rank among those of its node.
    int local_of(int rank) const { return local_of_[std::size_t(rank)]; }
    /// The ranks of a node, ascending.
    std::span<int const> members(int node) const { return members_[std::size_t(node)]; }
    int size_of(int node) const { return int(members(node).size()); }
    int largest() const noexcept { return largest_; }
    int smallest() const noexcept { return smallest_; }

  private:
    std::vector<int> node_of_;
    std::vector<int> local_of_;
    std::vector<std::vector<int>> members_;
    int largest_ = 0;
    int smallest_ = 0;
};

/// Labels for `ranks` ranks from a text: `block:3` (3 per node), `cyclic:4` (over 4 nodes),
/// `random:4:SEED` (over 4 nodes), `sizes:3,5,8` (ranks on each node, repeated while ranks are left).
///
/// Throws Error (MPI_ERR_ARG) for any other text.
std::vector<int> fake_labels(std::string_view text, int ranks);

} // namespace weft::alltoall
