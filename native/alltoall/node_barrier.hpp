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
    // The call in which a rank of the node had an error, or refused its arguments: in it and after it no rank waits. A
    // rank may still be in the call before, which ends as if nothing had happened.
    alignas(64) std::atomic<std::uint32_t> failed;
    std::atomic<std::uint32_t> refused;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "other processes know nothing of our locks");

/// One rank's view of it.
class NodeBarrier {
  public:
    NodeBarrier() = default;
    /// `comm` is polled while waiting: messages of the application may need progress in this rank's MPI.
    NodeBarrier(BarrierCells *cells, int ranks, MPI_Comm comm);

    /// Call at the start of each all-to-all that waits here: the ranks of a node count them alike.
    void begin_call() noexcept { ++call_; }
    /// Returns when all ranks of the node have arrived. Throws Error if one of them had an error in this call, and
    /// Refused if one refused it.
    void wait();
    /// Makes all ranks that wait in this call or a later one throw Error.
    void fail() noexcept;
    /// The same with Refused.
    void refuse() noexcept;

  private:
    void wait_for(std::uint32_t round);
    bool is_ended(std::atomic<std::uint32_t> const &by) const noexcept;

    BarrierCells *cells_ = nullptr;
    std::uint32_t ranks_ = 0;
    std::uint32_t call_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace weft::alltoall
