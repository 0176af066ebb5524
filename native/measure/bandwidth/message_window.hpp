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
    std::int64_t most_messages; ///< under way
    std::int64_t most_bytes;    ///< of them together; one message always is under way
    std::int64_t footprint;     ///< bytes of either side; no message is larger

    /// Every message has cache lines of its own.
    [[nodiscard]] static std::int64_t stride(std::int64_t bytes);
    /// Places for messages of a size.
    [[nodiscard]] std::int64_t places(std::int64_t bytes) const;
    [[nodiscard]] std::int64_t messages(std::int64_t bytes) const;
};

/// The two sides of one window of messages. Every message under way has a place of its own, as receives must, and each
/// window goes on where the last one ended: over a sample all sizes touch the same footprint. A window that began at
/// the same place each time would touch 64 times the size, and its rate would draw the caches.
class MessageWindow {
  public:
    /// Collective over two ranks.
    MessageWindow(Team const &team, WindowLimits const &limits);

    /// Why this MPI cannot count a message of so many bytes; empty where it can.
    static std::string refusal(std::int64_t bytes);

    void set_size(std::int64_t bytes);
    [[nodiscard]] std::int64_t messages() const { return messages_; }
    [[nodiscard]] bool real() const { return places_.real(); }

    /// Rank 0 sends a window, rank 1 receives it and says so.
    void send_window();

    /// For the next window: each message holds words of its own, so that two that changed places show; places that
    /// receive are cleared.
    void fill();
    /// Of the last window.
    [[nodiscard]] Flaws check_received() const;
    /// The test hook WEFT_PLANT=corrupt: one bit in the middle of what rank 1 received.
    void corrupt();

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
    std::int64_t next_ = 0; // place of the next window's first message
    std::int64_t last_ = 0; // and of the last one's
};

} // namespace weft
