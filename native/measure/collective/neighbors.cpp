// SPDX-License-Identifier: BSD-3-Clause
#include "collective/neighbors.hpp"

#include <string>
#include <vector>

namespace weft {

namespace {

constexpr std::int64_t whole_block = 1 << 20; // bytes of a largest block: what is no neighbour has none

void call_neighbors(CallArguments const &a) {
    check(MPI_Neighbor_alltoall(a.send, a.count, a.type, a.receive, a.count, a.type, a.comm), "MPI_Neighbor_alltoall");
}

} // namespace

Collective const &neighbor_alltoall() {
    static constexpr Collective form{"alltoallv", call_neighbors, Blocks::all, Blocks::all, false, false, false, true};
    return form;
}

std::string refuse_graph(BlockPattern const &pattern, int ranks) {
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            std::int64_t const block = pattern.block(from, to, whole_block, 1);
            if (block != 0 && block != whole_block) {
                return "neighbours exchange equal blocks, and that from rank " + std::to_string(from) + " to rank " +
                       std::to_string(to) + " is smaller than others";
            }
        }
    }
    return "";
}

Comm make_graph(Team const &team, BlockPattern const &pattern) {
    std::vector<int> to, from;
    for (int other = 0; other < team.size; ++other) {
        if (pattern.block(team.rank, other, whole_block, 1) != 0) {
            to.push_back(other);
        }
        if (pattern.block(other, team.rank, whole_block, 1) != 0) {
            from.push_back(other);
        }
    }
    to.reserve(1); // no null pointers to a library that may look at them
    from.reserve(1);
    MPI_Comm made = MPI_COMM_NULL;
    check(PMPI_Dist_graph_create_adjacent(team.comm, int(from.size()), from.data(), MPI_UNWEIGHTED, int(to.size()),
                                          to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
          "MPI_Dist_graph_create_adjacent");
    return Comm(made);
}

} // namespace weft
