// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// A TCP connection for short texts. A receiver polls briefly before it sleeps, so that ranks that use it for a common
/// start are not woken one by one.
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

    /// Nothing if no peer accepts within a second.
    static Socket connect(std::string const &address, int port);

    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    /// Both throw Failure if the peer has closed the connection.
    void send_text(std::string const &text) const;
    [[nodiscard]] std::string receive_text() const;
    /// Sets how long receive_text waits before the peer counts as lost; unlimited by default.
    void set_patience(int milliseconds) noexcept { patience_ms_ = milliseconds; }

  private:
    void receive(void *into, std::size_t bytes) const;

    int descriptor_ = -1;
    int patience_ms_ = -1;
};

/// A listening port: on loopback only, or on all addresses of this host.
class Listener {
  public:
    explicit Listener(bool loopback);
    Listener(Listener const &) = delete;
    Listener &operator=(Listener const &) = delete;
    ~Listener();

    /// 0 if no port is available.
    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] std::vector<std::string> addresses() const;
    /// Accepts the next connection; nothing after `patience_ns`.
    [[nodiscard]] Socket accept(std::int64_t patience_ns) const;

  private:
    bool loopback_;
    int descriptor_ = -1;
    int port_ = 0;
};

} // namespace weft
