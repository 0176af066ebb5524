// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms.hpp"

namespace weft::alltoall {

Kind run(Spec const &spec, Exchange const &exchange, State &state) {
    if (spec.kind == Kind::pmpi || state.nodes().ranks() == 1) {
        return Kind::pmpi;
    }
    // All blocks of MPI_Alltoall have one size in bytes: by counts, ranks with an empty datatype would decide
    // differently.
    if (exchange.uniform() && exchange.receive.bytes(0) == 0 && exchange.send.bytes(0) == 0) {
        return spec.kind;
    }
    switch (spec.kind) {
    case Kind::flat_window:
        return flat_window(spec, exchange, state);
    case Kind::flat_pairwise:
        return flat_pairwise(spec, exchange, state);
    case Kind::bruck:
        return bruck(spec, exchange, state);
    case Kind::node_multi:
        return node_multi(spec, exchange, state);
    case Kind::node_direct:
        return node_direct(spec, exchange, state);
    case Kind::node_bruck:
        return node_bruck(spec, exchange, state);
    case Kind::sched_matrix:
        return sched_matrix(spec, exchange, state);
    default:
        return sched(spec, exchange, state);
    }
}

} // namespace weft::alltoall
