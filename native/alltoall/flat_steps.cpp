// SPDX-License-Identifier: BSD-3-Clause
#include "flat_steps.hpp"

namespace weft::alltoall {

FlatSteps::FlatSteps(Exchange const &exchange, SlidingWindow &window, MPI_Comm comm)
    : exchange_(exchange), window_(window), comm_(comm) {}

void FlatSteps::add(Step const &step) {
    std::int64_t const out = step.to < 0 ? 0 : exchange_.send.bytes(step.to);
    std::vector<std::byte> copy;
    if (exchange_.in_place && out > 0) {
        copy.resize(std::size_t(out));
        exchange_.send.pack(step.to, 0, out, copy.data(), comm_);
    }
    if (step.from >= 0 && exchange_.receive.bytes(step.from) > 0) {
        window_.receive(block_of(exchange_.receive, step.from), step.from);
    }
    if (out == 0) {
        return;
    }
    if (exchange_.in_place) {
        window_.send(bytes_at(copy.data(), out), step.to);
        copies_[window_.last_slot()] = std::move(copy); // moving a vector does not move its bytes
    } else {
        window_.send(block_of(exchange_.send, step.to), step.to);
    }
}

} // namespace weft::alltoall
