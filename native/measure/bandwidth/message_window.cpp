// SPDX-License-Identifier: BSD-3-Clause
#include "bandwidth/message_window.hpp"

#include "mpi/message.hpp"
#include "record/hash.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

constexpr int message_tag = 0;
constexpr int done_tag = 1;
constexpr std::int64_t line_bytes = 64;

/// Calls `work(place, word, length)` for each word of a message.
template <class Work> void for_each_word(std::byte *place, std::int64_t message, std::int64_t bytes, Work &&work) {
    std::uint64_t const first = mix(std::uint64_t(message));
    for (std::int64_t at = 0; at < bytes; at += 8) {
        work(place + at, mix(first + std::uint64_t(at / 8)), std::size_t(std::min<std::int64_t>(8, bytes - at)));
    }
}

std::string wrong_word(std::int64_t byte, std::int64_t message, std::int64_t bytes) {
    return "rank 1: byte " + std::to_string(byte) + " and its neighbours of message " + std::to_string(message) +
           " of " + std::to_string(bytes) + " bytes are not what was sent";
}

} // namespace

std::int64_t WindowLimits::stride(std::int64_t bytes) {
    return std::max(bytes + line_bytes - 1, line_bytes) / line_bytes * line_bytes;
}

std::int64_t WindowLimits::places(std::int64_t bytes) const {
    return std::max<std::int64_t>(footprint / stride(bytes), 1); // a single message needs no alignment to cache lines
}

std::int64_t WindowLimits::messages(std::int64_t bytes) const {
    std::int64_t const fit = std::min(most_bytes / std::max<std::int64_t>(bytes, 1), places(bytes));
    return std::clamp(fit, std::int64_t{1}, most_messages);
}

MessageWindow::MessageWindow(Team const &team, WindowLimits const &limits)
    : team_(team), limits_(limits),
      places_(Buffer::make(team, std::size_t(limits.footprint), team.rank == 0 ? "send" : "receive")),
      requests_(std::size_t(limits.most_messages), MPI_REQUEST_NULL) {}

void MessageWindow::set_size(std::int64_t bytes) {
    bytes_ = bytes;
    messages_ = limits_.messages(bytes);
    next_ = 0;
}

std::byte *MessageWindow::place(std::int64_t first, std::int64_t message) const {
    std::int64_t const index = (first + message) % limits_.places(bytes_);
    return places_.data() + index * WindowLimits::stride(bytes_);
}

void MessageWindow::send_messages() {
    for (std::int64_t k = 0; k < messages_; ++k) {
        check(start_sending(place(next_, k), bytes_, 1, message_tag, team_.comm, &requests_[std::size_t(k)]),
              "MPI_Isend");
    }
}

void MessageWindow::receive_messages() {
    for (std::int64_t k = 0; k < messages_; ++k) {
        check(start_receiving(place(next_, k), bytes_, 0, message_tag, team_.comm, &requests_[std::size_t(k)]),
              "MPI_Irecv");
    }
}

void MessageWindow::send_window() {
    char done = 0;
    bool const sends = team_.rank == 0;
    sends ? send_messages() : receive_messages();
    check(MPI_Waitall(int(messages_), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    if (sends) {
        check(MPI_Recv(&done, 1, MPI_CHAR, 1, done_tag, team_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
    } else {
        check(MPI_Send(&done, 1, MPI_CHAR, 0, done_tag, team_.comm), "MPI_Send");
    }
    last_ = next_;
    next_ = (next_ + messages_) % limits_.places(bytes_);
}

void MessageWindow::fill() {
    for (std::int64_t k = 0; k < messages_; ++k) {
        std::byte *const message = place(next_, k);
        if (team_.rank != 0) {
            std::memset(message, 0, std::size_t(bytes_));
            continue;
        }
        for_each_word(message, k, bytes_,
                      [](std::byte *at, std::uint64_t word, std::size_t length) { std::memcpy(at, &word, length); });
    }
}

Flaws MessageWindow::check_received() const {
    Flaws flaws;
    for (std::int64_t k = 0; team_.rank == 1 && k < messages_; ++k) {
        std::byte *const message = place(last_, k);
        for_each_word(message, k, bytes_, [&](std::byte *at, std::uint64_t word, std::size_t length) {
            if (std::memcmp(at, &word, length) != 0) {
                flaws.add([&] { return wrong_word(at - message, k, bytes_); });
            }
        });
    }
    return flaws;
}

void MessageWindow::corrupt(std::int64_t message, std::int64_t byte) {
    if (team_.rank == 1) {
        place(last_, message)[byte] ^= std::byte{1};
    }
}

} // namespace weft
