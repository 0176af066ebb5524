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

/// Collective: a communicator with the graph of a pattern, in the order of the team's ranks. Throws
/// std::invalid_argument where the blocks of a pattern are not all alike.
Comm make_graph(Team const &team, BlockPattern const &pattern);

} // namespace weft
