// SPDX-License-Identifier: BSD-3-Clause
#include "bandwidth/message_window.hpp"

#include "mpi/message.hpp"
#include "record/hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace weft {

namespace {

constexpr int message_tag = 0;
constexpr int done_tag = 1;
constexpr std::int64_t line_bytes = 64;

/// Calls `work(place, word, length)` for each word of a message. The words depend on its sender and receiver, too.
template <class Work>
void for_each_word(std::byte *place, int from, int to, std::int64_t message, std::int64_t bytes, Work &&work) {
    std::uint64_t const first = mix(mix(std::uint64_t(from) << 32 | std::uint64_t(to)) + std::uint64_t(message));
    for (std::int64_t at = 0; at < bytes; at += 8) {
        work(place + at, mix(first + std::uint64_t(at / 8)), std::size_t(std::min<std::int64_t>(8, bytes - at)));
    }
}

std::string wrong_word(int rank, std::int64_t byte, std::int64_t message, std::int64_t bytes) {
    return "rank " + std::to_string(rank) + ": byte " + std::to_string(byte) + " and its neighbours of message " +
           std::to_string(message) + " of " + std::to_string(bytes) + " bytes are not what was sent";
}

} // namespace

std::int64_t WindowLimits::stride(std::int64_t bytes) {
    return std::max(bytes + line_bytes - 1, line_bytes) / line_bytes * line_bytes;
}

std::int64_t WindowLimits::places(std::int64_t bytes) const {
    return std::max<std::int64_t>(footprint / stride(bytes), 1); // a single message needs no alignment to cache lines
}

std::int64_t WindowLimits::messages(std::int64_t bytes, int flows) const {
    std::int64_t const room = shared ? most_messages * flows : places(bytes);
    std::int64_t const fit = std::min(most_bytes / std::max<std::int64_t>(bytes, 1), room) / flows;
    return std::clamp(fit, std::int64_t{1}, most_messages);
}

Transfer transfer_named(std::string_view name) {
    static constexpr std::array<std::string_view, 3> names{"send", "put", "get"};
    auto const *const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        throw std::out_of_range("transfer " + std::string(name) + " is none of send, put, get");
    }
    return Transfer(found - names.begin());
}

Flows Flows::of(int rank, int ranks, Shape shape, bool both_ways) {
    std::int64_t const ways = both_ways ? 2 : 1;
    if (shape == Shape::pairs) {
        int const half = ranks / 2;
        if (rank >= 2 * half) {
            return {{}, {}, 1, ways * half}; // the last of an odd number has no partner
        }
        bool const first = rank < half;
        std::vector<Flow> const partner{{first ? rank + half : rank - half, 0, 1}};
        std::vector<Flow> const none;
        return {first || both_ways ? partner : none, !first || both_ways ? partner : none, 1, ways * half};
    }
    std::vector<Flow> ends;
    for (int other = 1; rank == 0 && other < ranks; ++other) {
        ends.push_back({other, 0, 1});
    }
    if (rank != 0) {
        ends.push_back({0, rank - 1, ranks - 1});
    }
    bool const sends = (rank == 0) == (shape == Shape::out);
    return {sends || both_ways ? ends : std::vector<Flow>{}, !sends || both_ways ? ends : std::vector<Flow>{},
            ranks - 1, ways * (ranks - 1)};
}

Places::Places(Team const &team, std::int64_t bytes, std::string const &name, bool exposed)
    : buffer_(Buffer::make(team, exposed ? 0 : std::size_t(bytes), name)), data_(buffer_.data()) {
    if (!exposed) {
        return;
    }
    // The library's own memory: on one node some know no other for a window. Each rank's part begins at a page, or
    // copies to it take 25 times as long as to aligned memory.
    MPI_Info hints = MPI_INFO_NULL;
    check(PMPI_Info_create(&hints), "MPI_Info_create");
    check(PMPI_Info_set(hints, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    int const code = PMPI_Win_allocate(MPI_Aint(std::max<std::int64_t>(bytes, 1)), 1, hints, team.comm, &data_, &win_);
    check(PMPI_Info_free(&hints), "MPI_Info_free");
    if (max_over(team.comm, code == MPI_SUCCESS ? 0 : 1) != 0) {
        std::string const seen =
            code == MPI_SUCCESS ? "MPI_Win_allocate failed on another rank" : words_of(code, "MPI_Win_allocate");
        throw Refusal("fabric", seen + ": this library has no one-sided calls between these ranks (Open MPI 4.1 over "
                                       "TCP: its issue 11466); leave put and get out of transfers");
    }
    check(PMPI_Win_lock_all(0, win_), "MPI_Win_lock_all");
    std::memset(data_, 0x5a, std::size_t(bytes)); // touched first by its owner
    check(PMPI_Win_sync(win_), "MPI_Win_sync");
}

Places::~Places() {
    if (win_ != MPI_WIN_NULL && mpi_is_up()) {
        PMPI_Win_unlock_all(win_);
        PMPI_Win_free(&win_);
    }
}

MessageWindow::MessageWindow(Team const &team, WindowLimits const &limits, Flows flows, Transfer transfer)
    : team_(team), flows_(std::move(flows)), transfer_(transfer), limits_(limits),
      send_(team, flows_.to.empty() ? 0 : limits.footprint, "send", transfer == Transfer::get),
      receive_(team, flows_.from.empty() ? 0 : limits.footprint, "receive", transfer == Transfer::put),
      requests_(std::size_t(2 * limits.most_messages * flows_.most), MPI_REQUEST_NULL) {}

void MessageWindow::set_size(std::int64_t bytes) {
    bytes_ = bytes;
    messages_ = limits_.messages(bytes, flows_.most);
    window_ = 0;
}

void MessageWindow::move_messages() {
    MPI_Request *next = requests_.data();
    for (std::size_t f = 0; f < flows_.from.size(); ++f) {
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::byte *const into = place(receive_, index(window_, f, flows_.from.size(), k));
            check(start_receiving(into, bytes_, flows_.from[f].peer, message_tag, team_.comm, next++), "MPI_Irecv");
        }
    }
    for (std::size_t f = 0; f < flows_.to.size(); ++f) {
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::byte *const from = place(send_, index(window_, f, flows_.to.size(), k));
            check(start_sending(from, bytes_, flows_.to[f].peer, message_tag, team_.comm, next++), "MPI_Isend");
        }
    }
    check(MPI_Waitall(int(next - requests_.data()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    tell(flows_.from, flows_.to);
}

void MessageWindow::access_memory() {
    bool const puts = transfer_ == Transfer::put;
    std::vector<Flow> const &own = puts ? flows_.to : flows_.from;
    MPI_Win const win = puts ? receive_.exposed() : send_.exposed();
    int const count = int(bytes_);
    for (std::size_t f = 0; f < own.size(); ++f) {
        Flow const &flow = own[f];
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::byte *const here = place(puts ? send_ : receive_, index(window_, f, own.size(), k));
            std::int64_t const there = index(window_, std::size_t(flow.at_peer), std::size_t(flow.peer_flows), k);
            MPI_Aint const target = MPI_Aint(there * WindowLimits::stride(bytes_));
            check(puts ? MPI_Put(here, count, MPI_BYTE, flow.peer, target, count, MPI_BYTE, win)
                       : MPI_Get(here, count, MPI_BYTE, flow.peer, target, count, MPI_BYTE, win),
                  puts ? "MPI_Put" : "MPI_Get");
        }
    }
    if (!own.empty()) {
        check(MPI_Win_flush_all(win), "MPI_Win_flush_all");
    }
    tell(own, puts ? flows_.from : flows_.to);
}

/// A byte from whose side the messages are known to have arrived: `active`.
void MessageWindow::tell(std::vector<Flow> const &active, std::vector<Flow> const &passive) {
    char done = 0;
    char heard = 0;
    for (std::size_t f = 0; f < std::max(active.size(), passive.size()); ++f) {
        if (!active.empty() && !passive.empty()) {
            check(MPI_Sendrecv(&done, 1, MPI_CHAR, active[f].peer, done_tag, &heard, 1, MPI_CHAR, passive[f].peer,
                               done_tag, team_.comm, MPI_STATUS_IGNORE),
                  "MPI_Sendrecv");
        } else if (!active.empty()) {
            check(MPI_Send(&done, 1, MPI_CHAR, active[f].peer, done_tag, team_.comm), "MPI_Send");
        } else {
            check(MPI_Recv(&heard, 1, MPI_CHAR, passive[f].peer, done_tag, team_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
        }
    }
}

void MessageWindow::move_window() {
    transfer_ == Transfer::send ? move_messages() : access_memory();
    ++window_;
}

void MessageWindow::fill() {
    for (std::size_t f = 0; f < flows_.from.size(); ++f) {
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::memset(place(receive_, index(window_, f, flows_.from.size(), k)), 0, std::size_t(bytes_));
        }
    }
    for (std::size_t f = 0; f < flows_.to.size(); ++f) {
        for (std::int64_t k = 0; k < messages_; ++k) {
            for_each_word(
                place(send_, index(window_, f, flows_.to.size(), k)), team_.rank, flows_.to[f].peer, k, bytes_,
                [](std::byte *at, std::uint64_t word, std::size_t length) { std::memcpy(at, &word, length); });
        }
    }
    for (Places const *each : {&send_, &receive_}) {
        if (each->exposed() != MPI_WIN_NULL) {
            check(PMPI_Win_sync(each->exposed()), "MPI_Win_sync");
        }
    }
    check(PMPI_Barrier(team_.comm), "MPI_Barrier"); // others access this memory
}

Flaws MessageWindow::check_received() const {
    if (receive_.exposed() != MPI_WIN_NULL) {
        check(PMPI_Win_sync(receive_.exposed()), "MPI_Win_sync");
    }
    Flaws flaws;
    for (std::size_t f = 0; f < flows_.from.size(); ++f) {
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::byte *const message = place(receive_, index(window_ - 1, f, flows_.from.size(), k));
            for_each_word(message, flows_.from[f].peer, team_.rank, k, bytes_,
                          [&](std::byte *at, std::uint64_t word, std::size_t length) {
                              if (std::memcmp(at, &word, length) != 0) {
                                  flaws.add([&] { return wrong_word(team_.rank, at - message, k, bytes_); });
                              }
                          });
        }
    }
    return flaws;
}

void MessageWindow::corrupt(std::int64_t message, std::int64_t byte) {
    std::int64_t const here = flows_.from.empty() ? team_.size : team_.rank;
    if (min_over(team_.comm, here) == team_.rank) {
        place(receive_, index(window_ - 1, 0, flows_.from.size(), message))[byte] ^= std::byte{1};
    }
}

} // namespace weft
