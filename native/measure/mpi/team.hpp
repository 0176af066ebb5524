// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/back_channel.hpp"
#include "mpi/handles.hpp"

#include <string>
#include <vector>

namespace weft {

/// Ranks that work together, and their placement. One team for the world, others for parts of it.
///
/// A team with a back channel has not communicated over MPI yet: its communicator is MPI_COMM_WORLD itself, because
/// creating one needs communication, and it has no communicators of nodes and leaders until `settle`.
struct Team {
    Comm comm;          ///< for the kernels: data and measured calls
    int rank = 0;       ///< in comm
    int size = 1;       ///< of comm
    int node = 0;       ///< index of this rank's node; nodes are numbered in the order of their lowest rank
    int nodes = 1;      ///< number of nodes
    int local_rank = 0; ///< in node_comm
    int local_size = 1;
    Comm node_comm;                    ///< the ranks of this node
    Comm leaders;                      ///< local rank 0 of every node, in node order; null elsewhere
    std::vector<int> node_of;          ///< node of each rank
    std::vector<std::string> hosts;    ///< host name of each node
    std::unique_ptr<BackChannel> back; ///< until the first calls were made; null for most teams

    /// Collective: closes the back channel. From now on the ranks use MPI.
    void settle();
};

/// Collective over `parent`. Ranks are on one node if host name and boot id agree. `ranks_per_fake_node` > 0 divides
/// each node into groups of that many ranks, so that tests see several nodes on one host.
Team make_team(MPI_Comm parent, int ranks_per_fake_node);

/// The same, with WEFT_FAKE_RANKS_PER_NODE of the environment (for tests; 0 or unset: the real nodes).
Team make_team(MPI_Comm parent);

/// The team of all ranks, with a back channel if `door` opens one (see back_channel.hpp); else as above.
Team make_first_team(std::string const &door);

} // namespace weft
