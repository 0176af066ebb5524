// SPDX-License-Identifier: BSD-3-Clause
// A barrier of the ranks of a node, in memory that they share.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace weft::alltoall {

/// The part of a barrier in shared memory; initially zero.
struct alignas(64) BarrierCells {
    std::atomic<std::uint32_t> came;
    alignas(64) std::atomic<std::uint32_t> round;
    alignas(64) std::atomic<std::uint32_t> failed; // a rank of the node had an error: no rank waits any more
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "other processes know nothing of our locks");

/// One rank's view of it.
class NodeBarrier {
  public:
    NodeBarrier() = default;
    /// `comm` is polled while waiting: messages of the application may need progress in this rank's MPI.
    NodeBarrier(BarrierCells *cells, int ranks, MPI_Comm comm);

    /// Returns when all ranks of the node have arrived. Throws Error if one of them had an error.
    void wait();
    /// Makes all ranks that wait, now or later, throw.
    void fail() noexcept;

  private:
    void wait_for(std::uint32_t round);

    BarrierCells *cells_ = nullptr;
    std::uint32_t ranks_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace weft::alltoall
