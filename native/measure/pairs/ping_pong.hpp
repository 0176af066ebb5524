// SPDX-License-Identifier: BSD-3-Clause
// A round trip between two ranks, timed by the initiator.
#pragma once

#include "host/buffer.hpp"
#include "mpi/message.hpp"
#include "sample/losses.hpp"
#include "sample/recorder.hpp"
#include "time/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft {

/// Round trips of one sample.
struct Trips {
    std::int64_t timed = 1; ///< round trips
    /// One more untimed round trip before them: after the system call that reads the counters, cold caches make the
    /// next round trip 0.3 us longer. That is negligible for a large message and a tenth of a short one.
    bool lead = false;
};

/// What the responder knows of a sample.
struct Answer {
    std::int64_t arrived_ns; ///< the first timed ping, on the responder's clock
    std::int64_t lost;       ///< by the responder
};

/// Messages that make one ping, all under way at once.
struct PingWindow {
    std::int64_t most = 1; ///< messages
    /// Each in its own place (as in mpiGraph) or all in one (as in osu_bw), which stays in the cache; MPI leaves open
    /// what that then contains.
    bool apart = false;
    std::int64_t most_bytes = INT64_MAX; ///< of them together; one message always is under way

    [[nodiscard]] std::int64_t messages(std::int64_t bytes) const {
        return std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(bytes, 1), 1, most);
    }
    /// Distance between two messages: each has its own cache lines.
    [[nodiscard]] std::int64_t stride(std::int64_t bytes) const { return apart ? (bytes + 63) / 64 * 64 : 0; }
    /// Bytes of a buffer.
    [[nodiscard]] std::int64_t room(std::int64_t bytes) const {
        return apart ? messages(bytes) * stride(bytes) : bytes;
    }
};

/// Ping-pongs of one size, or messages both ways at the same time. There is no barrier between two samples: either
/// synchronises its two ranks by itself, and the exit from a barrier would add to its time.
class PingPong {
  public:
    /// All arguments must outlive it. A window of `bytes` must fit into both buffers, and one message into MPI.
    PingPong(MPI_Comm comm, Clock const &clock, Losses const &losses, Buffer const &send, Buffer const &receive,
             std::int64_t bytes, PingWindow window = {});

    /// Takes rows.size() samples, with what this rank lost.
    void initiate(int partner, Trips trips, std::span<Row> rows) const;
    /// The responder's side of answers.size() samples.
    void respond(int partner, Trips trips, std::span<Answer> answers) const;
    /// From now on each operation moves a message each way at the same time. Pairs that share a cable then fill it in
    /// both directions, which ping-pongs do not: theirs go one way or the other.
    /// In parts of at most `part` bytes: over TCP the answer that a longer message waits for stands behind its
    /// receiver's own data, and one direction takes twice as long as the other, now this one, now that.
    void move_both_ways(std::int64_t part = INT64_MAX);
    bool moves_both_ways() const noexcept { return both_ways_; }
    /// Messages of an operation, one after the other.
    std::int64_t legs() const noexcept { return both_ways_ ? 1 : 2; }
    /// Takes rows.size() samples on both ranks of a pair alike. An operation lasts until both ranks know that both
    /// messages have arrived: its time includes an empty message each way after them. `met`: whether the ranks may
    /// begin together, by an untimed one.
    void exchange(int partner, Trips trips, std::span<Row> rows, std::span<Answer> answers, bool met) const;
    /// One untimed round trip, on either side, to warm caches and wake a rank that slept.
    void wake(int partner, bool initiates) const;
    /// The responder signals that it is ready. For a simulator, where a message starts only when its receive is posted,
    /// so that an early ping would seem slow.
    void meet(int partner, bool initiates) const;

    /// Unrecorded ping-pongs until `over` returns true: background traffic for pairs that are still measured. Only the
    /// initiator calls it, and notifies its partner. Returns the end time of the last one, on this rank's clock.
    std::int64_t accompany(int partner, bool initiates, std::function<bool()> const &over) const;

    std::int64_t bytes() const noexcept { return bytes_; }
    /// The test hook WEFT_PLANT=slow: this rank delays each answer by `ns`.
    void slow_down(std::int64_t ns) noexcept { delay_ns_ = ns; }

  private:
    void ping(int partner) const {
        if (!requests_.empty()) {
            return send_window(partner);
        }
        check(send_bytes(send_, bytes_, partner, tag, comm_), "MPI_Send");
    }
    void pong(int partner) const {
        if (!requests_.empty()) {
            return receive_window(partner, 0);
        }
        check(receive_bytes(receive_, bytes_, partner, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    void send_window(int partner) const;
    /// The messages of a window from number `first` on.
    void receive_window(int partner, std::size_t first) const;
    void dawdle() const;
    /// Waits for half of the parts, from number `first` on.
    void wait_for_parts(std::size_t first) const;
    /// A message each way, and the meeting of both ranks; returns when this rank's message had arrived.
    std::int64_t swap(int partner) const;
    bool goes_on(int partner, bool initiates, std::function<bool()> const &over) const;
    /// Both ranks have come here: an empty message each way.
    void join(int partner) const;

    static constexpr int tag = 0;
    static constexpr int meeting = 15;
    static constexpr int farewell = 16;
    MPI_Comm comm_;
    Clock const &clock_;
    Losses const &losses_;
    std::byte const *send_;
    std::byte *receive_;
    std::int64_t bytes_;
    std::int64_t stride_;
    std::int64_t delay_ns_ = 0;
    bool both_ways_ = false;
    std::int64_t part_ = INT64_MAX;
    mutable std::vector<MPI_Request> parts_;    // both ways: of what arrives, then of what leaves
    mutable std::vector<MPI_Request> requests_; // of a window; empty for single messages, by blocking calls
};

} // namespace weft
