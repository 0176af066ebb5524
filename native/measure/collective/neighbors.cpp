// SPDX-License-Identifier: BSD-3-Clause
#include "collective/neighbors.hpp"

#include <stdexcept>
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

Comm make_graph(Team const &team, BlockPattern const &pattern) {
    std::vector<int> to, from;
    for (int other = 0; other < team.size; ++other) {
        std::int64_t const sent = pattern.block(team.rank, other, whole_block, 1);
        std::int64_t const received = pattern.block(other, team.rank, whole_block, 1);
        if ((sent != 0 && sent != whole_block) || (received != 0 && received != whole_block)) {
            throw std::invalid_argument("neighbours exchange equal blocks, and those of this pattern are not");
        }
        if (sent != 0) {
            to.push_back(other);
        }
        if (received != 0) {
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
