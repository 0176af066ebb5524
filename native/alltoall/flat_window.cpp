// SPDX-License-Identifier: BSD-3-Clause
// flat.window{w,order,bytes_in_flight}: a message for each pair of ranks, a limited number of them in flight.
//
// Messages per rank: p - 1. No copies. No memory, except with MPI_IN_PLACE a copy of the blocks in flight. Best for
// large blocks, which are limited by bandwidth. Slow for small ones, because of the adapter's cost per message.
#include "algorithms.hpp"
#include "flat_steps.hpp"

#include <algorithm>

namespace weft::alltoall {

Kind flat_window(Spec const &spec, Exchange const &exchange, State &state) {
    std::int64_t const fair = std::max<std::int64_t>(1, state.limits().requests_per_node / 2 / state.nodes().largest());
    int const steps_under_way = int(std::min<std::int64_t>({spec.window, fair, state.nodes().ranks()}));
    copy_own_block(exchange, state.rank(), state.comm());
    SlidingWindow window(state.comm(), tag_flat, 2 * steps_under_way, spec.bytes_in_flight);
    FlatSteps flat(exchange, window, state.comm());
    auto const steps = exchange.in_place ? mutual_steps(state.rank(), state.nodes().ranks())
                                         : steps_of(spec.order, state.rank(), state.nodes());
    for (Step const &step : steps) {
        flat.add(step);
    }
    window.drain();
    return Kind::flat_window;
}

} // namespace weft::alltoall
