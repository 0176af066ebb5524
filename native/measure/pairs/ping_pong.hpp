// SPDX-License-Identifier: BSD-3-Clause
// A message there and back between two ranks, timed by the one who begins.
#pragma once

#include "host/buffer.hpp"
#include "sample/recorder.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace weft {

/// What makes one sample.
struct Trips {
    std::int64_t timed = 1; ///< round trips
    /// One more before them that nobody times: the system call that reads the taint leaves caches behind which make the
    /// next round trip 0.3 us longer. Nothing for a large message, a tenth of a short one.
    bool lead = false;
};

/// Ping-pongs of one size. No barrier stands between two samples: a ping-pong keeps its two ranks together by itself,
/// where the way out of a barrier would add to it.
class PingPong {
  public:
    /// All must outlive it. `bytes` must fit an int, and both buffers.
    PingPong(MPI_Comm comm, Clock const &clock, Buffer const &send, Buffer const &receive, std::int64_t bytes);

    /// Takes rows.size() samples.
    void initiate(int partner, Trips trips, std::span<Row> rows) const;
    /// The other side. `arrivals`: when the first timed ping of each sample was here, on this rank's clock.
    void respond(int partner, Trips trips, std::span<std::int64_t> arrivals) const;
    /// One round trip that nobody times, on either side: caches and whoever slept are awake after it.
    void wake(int partner, bool initiates) const;
    /// The one who responds says that he is there. For a simulator, where a message begins to travel only when it is
    /// waited for, so that a ping which comes too early would seem slow.
    void meet(int partner, bool initiates) const;

    /// Ping-pongs that nobody records, until `over` says so: traffic beside those who are still measured. Only the one
    /// who initiates asks it; his partner is told. Returns when the last of them ended, on this rank's clock.
    std::int64_t accompany(int partner, bool initiates, std::function<bool()> const &over) const;

    std::int64_t bytes() const noexcept { return bytes_; }
    /// The test hook WEFT_PLANT=slow: this rank takes so long over each answer.
    void slow_down(std::int64_t ns) noexcept { delay_ns_ = ns; }

  private:
    void ping(int partner) const { check(MPI_Send(send_, bytes_, MPI_BYTE, partner, tag, comm_), "MPI_Send"); }
    void pong(int partner) const {
        check(MPI_Recv(receive_, bytes_, MPI_BYTE, partner, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    void dawdle() const;

    static constexpr int tag = 0;
    static constexpr int farewell = 16;
    MPI_Comm comm_;
    Clock const &clock_;
    std::byte const *send_;
    std::byte *receive_;
    int bytes_;
    std::int64_t delay_ns_ = 0;
};

} // namespace weft
