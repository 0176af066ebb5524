// SPDX-License-Identifier: BSD-3-Clause
// The kernel `bandwidth`: how fast messages go one way between two ranks when many are under way.
//
//   bytes         sizes of a message; see size_sweep.hpp
//   refine        sizes to add where the times leave the line between their neighbours
//   window        messages under way, at most (64)
//   window_bytes  and bytes of them together: at least one message is always under way (64 MiB)
//   pattern       intra-socket | inter-socket | inter-node: verified, not trusted (see binding.hpp)
//
// The operation `send@B` is one message of a window: the time of a window, acknowledgement included, over its messages.
#include "bandwidth/binding.hpp"
#include "cell/flaws.hpp"
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "host/buffer.hpp"
#include "record/hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft {

namespace {

constexpr char const *message = "send";
constexpr int message_tag = 0;
constexpr int done_tag = 1;

struct WindowLimits {
    std::int64_t most_messages;
    std::int64_t most_bytes;

    [[nodiscard]] std::int64_t messages(std::int64_t bytes) const {
        return std::clamp(most_bytes / std::max<std::int64_t>(bytes, 1), std::int64_t{1}, most_messages);
    }
    /// Memory of one side: every message under way has a place of its own, as receives must.
    [[nodiscard]] std::int64_t memory(std::vector<std::int64_t> const &sizes) const {
        std::int64_t most = 0;
        for (std::int64_t const bytes : sizes) {
            most = std::max(most, messages(bytes) * bytes);
        }
        return std::max(most, std::min(most_bytes, most_messages * sizes.back())); // what refinement may add
    }
};

WindowLimits limits_of(Cell const &cell) {
    WindowLimits const limits{cell.integer("window", 64), cell.integer("window_bytes", std::int64_t{64} << 20)};
    if (limits.most_messages < 1 || limits.most_bytes < 1) {
        throw Failure("cell " + cell.name() + ": a window of " + std::to_string(limits.most_messages) +
                          " messages and " + std::to_string(limits.most_bytes) + " bytes",
                      "give the study's [bandwidth] a window of at least one message", true);
    }
    return limits;
}

/// The two sides of one window of messages.
class MessageWindow {
  public:
    MessageWindow(Team const &team, WindowLimits const &limits, std::vector<std::int64_t> const &sizes)
        : team_(team), limits_(limits),
          places_(Buffer::make(team, std::size_t(limits.memory(sizes)), team.rank == 0 ? "send" : "receive")),
          requests_(std::size_t(limits.most_messages), MPI_REQUEST_NULL) {}

    void set_size(std::int64_t bytes) {
        bytes_ = bytes;
        messages_ = limits_.messages(bytes);
    }
    [[nodiscard]] std::int64_t messages() const { return messages_; }
    [[nodiscard]] bool real() const { return places_.real(); }
    [[nodiscard]] std::span<std::byte> received() const {
        return {places_.data(), team_.rank == 1 ? std::size_t(messages_ * bytes_) : 0};
    }

    void send_window() {
        char done = 0;
        if (team_.rank == 0) {
            for (std::int64_t k = 0; k < messages_; ++k) {
                check(MPI_Isend(places_.data() + k * bytes_, int(bytes_), MPI_BYTE, 1, message_tag, team_.comm,
                                &requests_[std::size_t(k)]),
                      "MPI_Isend");
            }
            check(MPI_Waitall(int(messages_), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
            check(MPI_Recv(&done, 1, MPI_CHAR, 1, done_tag, team_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
        } else {
            for (std::int64_t k = 0; k < messages_; ++k) {
                check(MPI_Irecv(places_.data() + k * bytes_, int(bytes_), MPI_BYTE, 0, message_tag, team_.comm,
                                &requests_[std::size_t(k)]),
                      "MPI_Irecv");
            }
            check(MPI_Waitall(int(messages_), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
            check(MPI_Send(&done, 1, MPI_CHAR, 0, done_tag, team_.comm), "MPI_Send");
        }
    }

    /// Each message holds words of its own, so that two that changed places show; received places are cleared.
    void fill() {
        if (team_.rank != 0) {
            std::memset(places_.data(), 0, std::size_t(messages_ * bytes_));
            return;
        }
        for_each_word(
            [](std::byte *place, std::uint64_t word, std::size_t length) { std::memcpy(place, &word, length); });
    }

    [[nodiscard]] Flaws check_received() const {
        Flaws flaws;
        if (team_.rank != 1) {
            return flaws;
        }
        for_each_word([&](std::byte const *place, std::uint64_t word, std::size_t length) {
            if (std::memcmp(place, &word, length) != 0) {
                flaws.add([&] { return wrong_word(place - places_.data()); });
            }
        });
        return flaws;
    }

  private:
    template <class Work> void for_each_word(Work &&work) const {
        for (std::int64_t k = 0; k < messages_; ++k) {
            std::uint64_t const first = mix(std::uint64_t(k));
            for (std::int64_t at = 0; at < bytes_; at += 8) {
                work(places_.data() + k * bytes_ + at, mix(first + std::uint64_t(at / 8)),
                     std::size_t(std::min<std::int64_t>(8, bytes_ - at)));
            }
        }
    }

    [[nodiscard]] std::string wrong_word(std::int64_t place) const {
        return "rank 1: byte " + std::to_string(place % bytes_) + " and its neighbours of message " +
               std::to_string(place / bytes_) + " of " + std::to_string(bytes_) + " bytes are not what was sent";
    }

    Team const &team_;
    WindowLimits limits_;
    Buffer places_;
    std::vector<MPI_Request> requests_;
    std::int64_t bytes_ = 0;
    std::int64_t messages_ = 0;
};

/// Refuses the cell where the binding that was obtained is not the pattern's.
void verify_binding(Cell &cell) {
    Team const &team = cell.team();
    Sockets const mine = platform::one_clock() ? 0 : sockets_of(platform::host().cpus);
    std::array<std::uint64_t, 2> both{};
    check(PMPI_Allgather(&mine, 1, MPI_UINT64_T, both.data(), 1, MPI_UINT64_T, team.comm), "MPI_Allgather of sockets");
    BindingFinding const found = check_binding(cell.text("pattern", ""), team.nodes == 1, both[0], both[1]);
    if (!found.refusal.empty()) {
        throw Refusal("fabric", found.refusal); // both saw the same, so both throw
    }
    if (!found.warning.empty()) {
        cell.warn(found.warning);
    }
}

/// One window of each size on an iteration of its own.
void prove_windows(Cell &cell, MessageWindow &window, std::vector<std::int64_t> const &measured) {
    if (!window.real()) {
        return cell.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    Flaws flaws;
    for (std::int64_t const bytes : measured) {
        window.set_size(bytes);
        window.fill();
        window.send_window();
        if (planted(cell, "corrupt") && !window.received().empty()) {
            window.received()[window.received().size() / 2] ^= std::byte{1};
        }
        flaws.join(window.check_received());
    }
    cell.set_validation(std::int64_t(flaws.count), flaws.first);
}

} // namespace

Need bandwidth_need(Cell const &cell) {
    std::vector<std::int64_t> const sizes = sizes_of(cell);
    if (cell.team().size != 2) {
        throw Failure("cell " + cell.name() + ": bandwidth is measured between 2 ranks, not " +
                          std::to_string(cell.team().size),
                      "the plan names two `members`: start the study again", true);
    }
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (sizes.back() >= most) {
        throw Refusal("fabric", "a message of " + std::to_string(sizes.back()) +
                                    " bytes is more than an MPI-3 call counts: take sizes below 2 GiB");
    }
    return {{{"messages under way", limits_of(cell).memory(sizes)},
             {"samples", Recorder::bytes(most_sizes(cell), cell.rules())},
             {"library staging", library_staging_bytes(2)}}};
}

void run_bandwidth(Cell &cell) {
    verify_binding(cell);
    std::vector<std::int64_t> const sizes = sizes_of(cell);
    MessageWindow window(cell.team(), limits_of(cell), sizes);
    Sampler &sampler = cell.sampler();
    auto const call = [&] { window.send_window(); };
    auto const first_call = [&](std::int64_t bytes) {
        window.set_size(bytes);
        sampler.cold(op_at(message, bytes), call, {.operations = window.messages()});
    };
    for (std::int64_t const bytes : sizes) {
        first_call(bytes);
    }
    std::vector<std::int64_t> measured;
    sweep_sizes(cell, message, 1, [&](std::int64_t bytes) {
        if (std::find(sizes.begin(), sizes.end(), bytes) == sizes.end()) {
            first_call(bytes);
        }
        window.set_size(bytes);
        sampler.warm(op_at(message, bytes), call, {.operations = window.messages()});
        measured.push_back(bytes);
    });
    std::sort(measured.begin(), measured.end());
    prove_windows(cell, window, measured);
}

} // namespace weft
