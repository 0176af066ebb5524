// SPDX-License-Identifier: BSD-3-Clause
// Messages of any length, with a bounded number in flight.
#pragma once

#include "side.hpp"

#include <climits>
#include <vector>

namespace weft::alltoall {

/// A message buffer: a 64-bit count of any datatype.
struct Message {
    void *address;
    std::int64_t count;
    MPI_Datatype type;
    std::int64_t bytes;
};

inline Message bytes_at(void *address, std::int64_t bytes) {
    return {address, bytes, MPI_BYTE, bytes};
}

/// A block in the caller's memory. Dense data are sent as bytes: some libraries copy any derived datatype.
inline Message block_of(Side const &side, int rank) {
    std::int64_t const bytes = side.bytes(rank);
    if (side.layout().dense && bytes <= INT_MAX) {
        return bytes_at(side.address(rank), bytes);
    }
    return {side.address(rank), side.count(rank), side.layout().type, bytes};
}

/// Throws unless a message has the length that is expected: Refused if it is empty, which no block is, else Error.
void check_length(std::int64_t came, std::int64_t expected, int from);

/// Messages in a fixed order with a limited number in flight: when one ends, the next starts.
///
/// Ranks that all add messages step by step cannot block each other: the first step with an unfinished message is in
/// flight on all its ranks. This requires room for all messages of a rank in one step.
class SlidingWindow {
  public:
    /// At most `messages` in flight (2 or more), and sends of at most `bytes` together, but always at least one.
    SlidingWindow(MPI_Comm comm, int tag, int messages, std::int64_t bytes);
    SlidingWindow(SlidingWindow const &) = delete;
    SlidingWindow &operator=(SlidingWindow const &) = delete;
    /// After an error some messages are still in flight: they are cancelled, or left to MPI.
    ~SlidingWindow();

    void send(Message const &message, int to);
    /// Returns the number of this receive: 1, 2, ...
    std::int64_t receive(Message const &message, int from);
    /// Waits for all receives up to a number.
    void wait_through(std::int64_t receive);
    /// Waits for all messages.
    void drain();
    /// Waits for one message or more.
    void wait_for_some();
    int sends_under_way() const noexcept { return sends_under_way_; }
    int receives_under_way() const noexcept { return under_way_ - sends_under_way_; }
    /// Slot of the message that was added last. It is reused only after that message has ended.
    int last_slot() const noexcept { return last_slot_; }

  private:
    int free_slot(std::int64_t send_bytes);
    void end(std::size_t slot, MPI_Status &status);

    MPI_Comm comm_;
    int tag_;
    std::int64_t most_bytes_;
    std::int64_t send_bytes_ = 0;
    int under_way_ = 0;
    int sends_under_way_ = 0;
    int last_slot_ = -1;
    std::int64_t receives_ = 0;
    std::vector<MPI_Request> requests_;
    std::vector<std::int64_t> sends_;    // [slot] bytes of a send, 0 of a receive
    std::vector<std::int64_t> expected_; // [slot] bytes of a receive, -1 of a send
    std::vector<std::int64_t> numbers_;  // [slot] of a receive
    std::vector<int> ended_;
    std::vector<MPI_Status> statuses_;
};

/// Tags on the private communicator, one per algorithm: messages left after an error must not match those of another.
enum Tag {
    tag_flat = 1,
    tag_bruck,
    tag_multi,
    tag_direct,
    tag_node_bruck,
    tag_rounds,
    tag_matrix,
    tag_entry,
    tag_progress
};

} // namespace weft::alltoall
