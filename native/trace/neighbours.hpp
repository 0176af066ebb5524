// SPDX-License-Identifier: BSD-3-Clause
// Families of neighbourhood collective calls: a block to each target, one from each source, which the topology names.
#pragma once

#include "collectives.hpp"

namespace weft::trace {

/// Blocks of these bytes to the targets, by their order, and what comes from all sources.
template <typename BytesTo, typename BytesFrom>
void between_neighbours(Event &e, MPI_Comm comm, BytesTo bytes_to, BytesFrom bytes_from) {
    Group const &group = e.on(comm);
    NeighboursPointer const around = tracer().groups().neighbours(comm, group);
    for (std::size_t i = 0; i < around->to.size(); ++i) {
        e.record.bytes += around->to[i] >= 0 ? bytes_to(int(i)) : 0;
    }
    for (std::size_t i = 0; i < around->from.size(); ++i) {
        e.record.received += around->from[i] >= 0 ? bytes_from(int(i)) : 0;
    }
    e.bytes_to(around->to, bytes_to);
}

/// MPI_Neighbor_allgather and MPI_Neighbor_alltoall: equal blocks.
struct NeighborEqual : Plain<NeighborEqual> {
    template <typename L> static void after(Event &e, auto, auto sn, auto st, auto, auto rn, auto rt, auto comm) {
        std::int64_t const gives = L::number(sn) * size_of(L::type(st)), gets = L::number(rn) * size_of(L::type(rt));
        between_neighbours(e, L::comm(comm), [&](int) { return gives; }, [&](int) { return gets; });
    }
};

struct NeighborAllGatherV : Plain<NeighborAllGatherV> {
    template <typename L> static void after(Event &e, auto, auto sn, auto st, auto, auto rn, auto, auto rt, auto comm) {
        std::int64_t const gives = L::number(sn) * size_of(L::type(st)), unit = size_of(L::type(rt));
        between_neighbours(e, L::comm(comm), [&](int) { return gives; }, [&](int i) { return unit * rn[i]; });
    }
};

struct NeighborAllToAllV : Plain<NeighborAllToAllV> {
    template <typename L>
    static void after(Event &e, auto, auto sn, auto, auto st, auto, auto rn, auto, auto rt, auto comm) {
        std::int64_t const gives = size_of(L::type(st)), gets = size_of(L::type(rt));
        between_neighbours(e, L::comm(comm), [&](int i) { return gives * sn[i]; }, [&](int i) { return gets * rn[i]; });
    }
};

struct NeighborAllToAllW : Plain<NeighborAllToAllW> {
    template <typename L>
    static void after(Event &e, auto, auto sn, auto, auto st, auto, auto rn, auto, auto rt, auto comm) {
        between_neighbours(
            e, L::comm(comm), [&](int i) { return std::int64_t(sn[i]) * size_of(L::type_at(st, i)); },
            [&](int i) { return std::int64_t(rn[i]) * size_of(L::type_at(rt, i)); });
    }
};

} // namespace weft::trace
