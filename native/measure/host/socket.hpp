// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// One TCP connection of short texts. Those who wait look again and again for a moment before they sleep: ranks that
/// start together by it are not woken one by one.
class Socket {
  public:
    Socket() = default;
    explicit Socket(int descriptor);
    Socket(Socket &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket &operator=(Socket &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket();

    /// Nothing where nobody listens within a second.
    static Socket connect(std::string const &address, int port);

    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    /// Both throw Failure when the other side is gone.
    void send_text(std::string const &text) const;
    [[nodiscard]] std::string receive_text() const;
    /// How long receive_text waits for more before it counts the other side as gone; for ever where not said.
    void set_patience(int milliseconds) noexcept { patience_ms_ = milliseconds; }

  private:
    void receive(void *into, std::size_t bytes) const;

    int descriptor_ = -1;
    int patience_ms_ = -1;
};

/// A port that others can reach: on this host alone (loopback), or on all its addresses.
class Listener {
  public:
    explicit Listener(bool loopback);
    Listener(Listener const &) = delete;
    Listener &operator=(Listener const &) = delete;
    ~Listener();

    /// 0 where no port is to be had.
    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] std::vector<std::string> addresses() const;
    /// The next to come; nothing after `patience_ns`.
    [[nodiscard]] Socket accept(std::int64_t patience_ns) const;

  private:
    bool loopback_;
    int descriptor_ = -1;
    int port_ = 0;
};

} // namespace weft
