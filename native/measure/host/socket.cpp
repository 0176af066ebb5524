// SPDX-License-Identifier: BSD-3-Clause
#include "host/socket.hpp"

#include "host/platform.hpp"
#include "mpi/error.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft {

namespace {

constexpr int connect_ms = 1000;
constexpr std::int64_t look_ns = 200'000; // longer than a message within a host takes, and short for a wait
constexpr std::uint64_t longest_text = std::uint64_t{1} << 30;

[[noreturn]] void fail_gone() {
    throw Failure("another rank of this launch is gone", "see the lines above for what ended it");
}

bool is_ready(int descriptor, short events, int patience_ms) {
    pollfd look{descriptor, events, 0};
    int ready = 0;
    do {
        ready = ::poll(&look, 1, patience_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

} // namespace

Socket::Socket(int descriptor) : descriptor_(descriptor) {
    int const on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket::~Socket() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

Socket Socket::connect(std::string const &address, int port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::uint16_t(port));
    if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) {
        return {};
    }
    Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) {
        return {};
    }
    if (::connect(made.descriptor_, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0) {
        return made;
    }
    int error = errno;
    socklen_t length = sizeof error;
    bool const answered = error == EINPROGRESS && is_ready(made.descriptor_, POLLOUT, connect_ms) &&
                          ::getsockopt(made.descriptor_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
    return answered ? std::move(made) : Socket();
}

void Socket::send_text(std::string const &text) const {
    std::uint64_t const length = text.size();
    std::string const all = std::string(reinterpret_cast<char const *>(&length), sizeof length) + text;
    for (std::size_t done = 0; done < all.size();) {
        ssize_t const sent = ::send(descriptor_, all.data() + done, all.size() - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR && errno != EAGAIN) {
            fail_gone();
        }
        if (sent < 0) {
            is_ready(descriptor_, POLLOUT, -1);
        }
        done += std::size_t(std::max<ssize_t>(sent, 0));
    }
}

std::string Socket::receive_text() const {
    std::uint64_t length = 0;
    receive(&length, sizeof length);
    if (length > longest_text) {
        fail_gone();
    }
    std::string text(std::size_t(length), '\0');
    receive(text.data(), text.size());
    return text;
}

void Socket::receive(void *into, std::size_t bytes) const {
    std::int64_t const began = platform::now_ns();
    for (std::size_t done = 0; done < bytes;) {
        ssize_t const got = ::recv(descriptor_, static_cast<char *>(into) + done, bytes - done, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            fail_gone();
        }
        if (got < 0 && platform::now_ns() - began > look_ns && !is_ready(descriptor_, POLLIN, patience_ms_)) {
            fail_gone();
        }
        done += std::size_t(std::max<ssize_t>(got, 0));
    }
}

Listener::Listener(bool loopback) : loopback_(loopback), descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    socklen_t length = sizeof at;
    bool const open = descriptor_ >= 0 && ::bind(descriptor_, reinterpret_cast<sockaddr *>(&at), sizeof at) == 0 &&
                      ::listen(descriptor_, SOMAXCONN) == 0 &&
                      ::getsockname(descriptor_, reinterpret_cast<sockaddr *>(&at), &length) == 0;
    port_ = open ? ntohs(at.sin_port) : 0;
}

Listener::~Listener() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

// Loopback comes last: in separate network namespaces it leads every rank to itself.
std::vector<std::string> Listener::addresses() const {
    std::vector<std::string> found;
    ifaddrs *all = nullptr;
    if (!loopback_ && ::getifaddrs(&all) == 0) {
        for (ifaddrs const *each = all; each != nullptr; each = each->ifa_next) {
            bool const up = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
            if (up && each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET) {
                char text[INET_ADDRSTRLEN] = "";
                ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in const *>(each->ifa_addr)->sin_addr, text,
                            sizeof text);
                found.emplace_back(text);
            }
        }
        ::freeifaddrs(all);
    }
    found.emplace_back("127.0.0.1");
    return found;
}

Socket Listener::accept(std::int64_t patience_ns) const {
    int const patience_ms = int(std::max<std::int64_t>(patience_ns / 1'000'000, 0));
    if (!is_ready(descriptor_, POLLIN, patience_ms)) {
        return {};
    }
    int const descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    return descriptor < 0 ? Socket() : Socket(descriptor);
}

} // namespace weft
