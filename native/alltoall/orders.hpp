// SPDX-License-Identifier: BSD-3-Clause
// The order in which a rank exchanges with the others. Pure: no MPI. Every step is a permutation of the ranks, and over
// all steps each rank sends to each other once.
#pragma once

#include "nodes.hpp"
#include "spec.hpp"

#include <vector>

namespace weft::alltoall {

/// What a rank does in one step: -1 if it does not send or receive.
struct Step {
    int to;
    int from;
};

/// The steps of `rank`.
///
/// - shift: to rank + s, from rank - s.
/// - exclusive_or: with rank xor s, both ways; as `mutual` if p is not a power of two.
/// - node_rotated: the cores of a node start at different nodes, so that each step spreads over all nodes.
/// - permuted: as shift, after one fixed shuffle of the ranks.
std::vector<Step> steps_of(Order order, int rank, Nodes const &nodes);

/// Steps in which each rank sends to the rank it receives from (or is idle): needed with MPI_IN_PLACE, where received
/// data overwrite the data to send. In step s the partner is (s - rank) mod p.
std::vector<Step> mutual_steps(int rank, int ranks);

} // namespace weft::alltoall
