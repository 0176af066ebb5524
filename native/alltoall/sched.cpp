// SPDX-License-Identifier: BSD-3-Clause
// sched{file}: rounds from a file (see round_file.hpp), made from a topology and its routes.
//
// A rank starts its next round when its own messages of the one before have ended; there is no barrier.
#include "algorithms.hpp"
#include "flat_steps.hpp"

namespace weft::alltoall {

Kind sched(Spec const &spec, Exchange const &exchange, State &state) {
    RoundFile const &file = state.rounds(spec.file);
    if (file.ranks != state.nodes().ranks()) {
        return Kind::pmpi; // it was made for another communicator of this application
    }
    if (exchange.in_place) {
        return flat_pairwise(spec, exchange,
                             state); // rounds in which a rank does not send to the rank it receives from are not usable
    }
    copy_own_block(exchange, state.rank(), state.comm());
    SlidingWindow window(state.comm(), tag_rounds, 2, INT64_MAX);
    FlatSteps flat(exchange, window, state.comm());
    for (auto const &round : file.rounds) {
        flat.add(round[std::size_t(state.rank())]);
        window.drain();
    }
    return Kind::sched;
}

} // namespace weft::alltoall
