// SPDX-License-Identifier: BSD-3-Clause
// The barrier of a simulated node. A rank that polls would stop the simulator's clock, so the ranks wait for each other
// in the simulator; each then pays the ceil(log2 P) cache lines that a dissemination barrier moves one after the other.
#include "node_barrier.hpp"

#include "hooks.hpp"

#include <simgrid/s4u.hpp>

#include <map>
#include <utility>

namespace weft::alltoall {

namespace {

constexpr std::uint64_t line_bytes = 64;

simgrid::s4u::BarrierPtr meeting_at(BarrierCells *cells, std::uint32_t ranks) {
    static std::map<std::pair<BarrierCells *, std::uint32_t>, simgrid::s4u::BarrierPtr> all;
    auto &found = all[{cells, ranks}];
    if (found == nullptr) {
        found = simgrid::s4u::Barrier::create(ranks);
    }
    return found;
}

} // namespace

NodeBarrier::NodeBarrier(BarrierCells *cells, int ranks, MPI_Comm comm)
    : cells_(cells), ranks_(std::uint32_t(ranks)), comm_(comm) {}

void NodeBarrier::wait() {
    at_step("barrier");
    meeting_at(cells_, ranks_)->wait();
    auto *const here = simgrid::s4u::this_actor::get_host();
    for (std::uint32_t reach = 1; reach < ranks_; reach *= 2) {
        simgrid::s4u::Comm::sendto(here, here, line_bytes);
    }
}

void NodeBarrier::refuse() noexcept {}

void NodeBarrier::fail() noexcept {} // nothing fails here; if it did, the simulator would report a deadlock

} // namespace weft::alltoall
