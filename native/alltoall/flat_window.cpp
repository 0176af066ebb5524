// SPDX-License-Identifier: BSD-3-Clause
// flat.window{w,order,bytes_in_flight}: a message for each pair of ranks, a limited number of them under way.
//
// Messages p - 1 a rank. Copies none. Memory none, but with MPI_IN_PLACE a copy of the blocks under way. Best for large
// blocks, where the wire is busy anyway. Loses for small ones: each message costs the adapter its time.
#include "algorithms.hpp"
#include "flat_steps.hpp"

#include <algorithm>

namespace weft::alltoall {

bool flat_window(Spec const &spec, Exchange const &exchange, State &state) {
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
    return true;
}

} // namespace weft::alltoall
