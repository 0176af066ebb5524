// SPDX-License-Identifier: BSD-3-Clause
// flat.pairwise: one partner after another; by exclusive or if p is a power of two, else by shifts.
//
// As flat.window{w=1}, but a step begins only when the one before has ended. Slow if one late rank delays all.
#include "algorithms.hpp"
#include "flat_steps.hpp"

namespace weft::alltoall {

Kind flat_pairwise(Spec const &, Exchange const &exchange, State &state) {
    int const ranks = state.nodes().ranks();
    Order const order = (ranks & (ranks - 1)) == 0 ? Order::exclusive_or : Order::shift;
    copy_own_block(exchange, state.rank(), state.comm());
    SlidingWindow window(state.comm(), tag_flat, 2, INT64_MAX);
    FlatSteps flat(exchange, window, state.comm());
    auto const steps =
        exchange.in_place ? mutual_steps(state.rank(), ranks) : steps_of(order, state.rank(), state.nodes());
    for (Step const &step : steps) {
        flat.add(step);
        window.drain();
    }
    return Kind::flat_pairwise;
}

} // namespace weft::alltoall
