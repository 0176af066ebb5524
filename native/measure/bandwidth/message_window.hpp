// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cell/flaws.hpp"
#include "host/buffer.hpp"
#include "mpi/team.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct WindowLimits {
    std::int64_t most_messages; ///< in flight
    std::int64_t most_bytes;    ///< of them together; at least one message is in flight
    std::int64_t footprint;     ///< bytes on either side; no message is larger

    /// Distance between messages: each has its own cache lines.
    [[nodiscard]] static std::int64_t stride(std::int64_t bytes);
    /// Number of places for messages of a size.
    [[nodiscard]] std::int64_t places(std::int64_t bytes) const;
    [[nodiscard]] std::int64_t messages(std::int64_t bytes) const;
};

/// The two sides of one window of messages. Every message in flight has its own place, as receives require, and each
/// window continues where the last one ended: over a sample all sizes touch the same footprint. If each window started
/// at the same place, it would touch 64 times the message size, and the rate would depend on the caches.
class MessageWindow {
  public:
    /// Collective over two ranks.
    MessageWindow(Team const &team, WindowLimits const &limits);

    void set_size(std::int64_t bytes);
    [[nodiscard]] std::int64_t messages() const { return messages_; }
    [[nodiscard]] bool real() const { return places_.real(); }

    /// Rank 0 sends a window; rank 1 receives and acknowledges it.
    void send_window();

    /// Prepares the next window: each message has unique words, so that two exchanged messages are detected; receive
    /// places are cleared.
    void fill();
    /// Checks the last window.
    [[nodiscard]] Flaws check_received() const;
    /// The test hook WEFT_PLANT=corrupt: one bit of what rank 1 received.
    void corrupt(std::int64_t message, std::int64_t byte);

  private:
    [[nodiscard]] std::byte *place(std::int64_t first, std::int64_t message) const;
    void send_messages();
    void receive_messages();

    Team const &team_;
    WindowLimits limits_;
    Buffer places_;
    std::vector<MPI_Request> requests_;
    std::int64_t bytes_ = 0;
    std::int64_t messages_ = 0;
    std::int64_t next_ = 0; // index of the next window's first message
    std::int64_t last_ = 0; // and of the last one's
};

} // namespace weft
