// SPDX-License-Identifier: BSD-3-Clause
// Families of partitioned calls: a persistent message whose parts are handed over, or asked about, one by one.
#pragma once

#include "point_to_point.hpp"

namespace weft::trace {

/// All its parts together, as any persistent send: the library may send them in other pieces.
struct PartitionedSend : Plain<PartitionedSend> {
    static constexpr bool receives = false;
    template <typename L>
    static void after(Event &e, auto buf, auto parts, auto n, auto type, auto to, auto tag, auto comm, auto) {
        Send::after<L>(e, buf, n, type, to, tag, comm);
        e.record.bytes *= L::number(parts);
    }
};

struct PartitionedReceive : Plain<PartitionedReceive> {
    static constexpr bool receives = true;
    template <typename L>
    static void after(Event &e, auto buf, auto parts, auto n, auto type, auto from, auto tag, auto comm, auto) {
        Post::after<L>(e, buf, n, type, from, tag, comm);
        e.record.received *= L::number(parts);
    }
};

/// MPI_Pready, of a range and of a list: the request is the last argument.
struct PartReady : Plain<PartReady> {
    template <typename L, typename... A> static void after(Event &e, A... a) {
        e.record.request = tracer().requests().find(std::get<sizeof...(A) - 1>(std::tuple(a...))).number;
    }
};

struct PartArrived {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request, auto part, auto flag) {
        std::uint64_t const number = tracer().requests().find(request).number;
        e.time([&] { return run(request, part, flag); });
        polled(e, *flag != 0);
        if (*flag != 0) {
            e.record.request = number;
        }
    }
};

} // namespace weft::trace
