// SPDX-License-Identifier: BSD-3-Clause
// The neighbourhood form of an all-to-all: equal blocks to and from the ranks of a graph, all others get none.
#pragma once

#include "collective/block_pattern.hpp"
#include "collective/collective_calls.hpp"
#include "mpi/handles.hpp"
#include "mpi/team.hpp"

namespace weft {

/// MPI_Neighbor_alltoall as a form of alltoallv. Neighbours are in ascending order of ranks, as the blocks are.
Collective const &neighbor_alltoall();

/// Why a pattern is no graph of so many ranks: blocks that are not all alike; empty if it is one. The same on every
/// rank.
std::string refuse_graph(BlockPattern const &pattern, int ranks);

/// Collective: a communicator with the graph of a pattern, in the order of the team's ranks.
Comm make_graph(Team const &team, BlockPattern const &pattern);

} // namespace weft
