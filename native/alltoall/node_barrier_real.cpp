// SPDX-License-Identifier: BSD-3-Clause
#include "node_barrier.hpp"

#include "error.hpp"
#include "hooks.hpp"
#include "transfer.hpp"

#include <sched.h>

namespace weft::alltoall {

namespace {

constexpr int spins_before_yield = 200; // a few microseconds: with one core per rank the others arrive within that

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

} // namespace

NodeBarrier::NodeBarrier(BarrierCells *cells, int ranks, MPI_Comm comm)
    : cells_(cells), ranks_(std::uint32_t(ranks)), comm_(comm) {}

void NodeBarrier::wait() {
    at_step("barrier");
    std::uint32_t const round = cells_->round.load(std::memory_order_acquire);
    if (cells_->came.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
        cells_->came.store(0, std::memory_order_relaxed);
        cells_->round.store(round + 1, std::memory_order_release);
    } else {
        wait_for(round);
    }
    if (is_ended(cells_->refused)) {
        throw Refused();
    }
    if (is_ended(cells_->failed)) {
        throw Error(MPI_ERR_OTHER, "weft: another rank of this node met an error -> see what that rank said");
    }
}

void NodeBarrier::wait_for(std::uint32_t round) {
    for (int spins = 0; cells_->round.load(std::memory_order_acquire) == round; ++spins) {
        if (is_ended(cells_->failed) || is_ended(cells_->refused)) {
            return;
        }
        if (spins < spins_before_yield) {
            relax();
            continue;
        }
        // A rank that has not arrived may wait for a message of the application that only progress in our MPI can
        // complete.
        int flag = 0;
        PMPI_Iprobe(MPI_ANY_SOURCE, tag_progress, comm_, &flag, MPI_STATUS_IGNORE);
        sched_yield();
    }
}

bool NodeBarrier::is_ended(std::atomic<std::uint32_t> const &by) const noexcept {
    std::uint32_t const call = by.load(std::memory_order_acquire);
    return call != 0 && call <= call_;
}

void NodeBarrier::fail() noexcept {
    if (std::uint32_t none = 0; cells_ != nullptr) {
        cells_->failed.compare_exchange_strong(none, call_);
    }
}

void NodeBarrier::refuse() noexcept {
    if (std::uint32_t none = 0; cells_ != nullptr) {
        cells_->refused.compare_exchange_strong(none, call_);
    }
}

} // namespace weft::alltoall
