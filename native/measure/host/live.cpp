// SPDX-License-Identifier: BSD-3-Clause
#include "host/live.hpp"

#include "common/crc32.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace weft {

namespace {

constexpr std::int64_t least_pause_ns = 200'000'000;
constexpr std::size_t crc_chars = 9; // and the space before it
constexpr std::size_t shown_samples = 32;

/// Not the clock of the samples, which in a simulator is a simulated one.
std::int64_t wall_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

} // namespace

std::string live_text(Glimpse const &glimpse, std::span<std::int64_t const> samples_ns) {
    std::string text = "weft-live/1 " + std::string(glimpse.cell) + " " + std::string(glimpse.op) + " " +
                       std::to_string(glimpse.batch) + " " + std::to_string(samples_ns.size()) + " " +
                       std::to_string(glimpse.median_ns) + " " + std::to_string(glimpse.low_ns) + " " +
                       std::to_string(glimpse.high_ns);
    if (text.size() + crc_chars > Live::slot_bytes) {
        return "";
    }
    std::string last;
    std::size_t shown = 0;
    for (auto sample = samples_ns.rbegin(); sample != samples_ns.rend() && shown < shown_samples; ++sample, ++shown) {
        std::string word = " " + std::to_string(*sample);
        if (text.size() + word.size() + last.size() + crc_chars > Live::slot_bytes) {
            break;
        }
        last.insert(0, word);
    }
    text += last;
    std::array<char, crc_chars + 1> crc{};
    std::snprintf(crc.data(), crc.size(), " %08x", unsigned(crc32(std::as_bytes(std::span(text)))));
    return text + crc.data();
}

Live::~Live() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

bool Live::due() const noexcept {
    return !path_.empty() && wall_ns() - written_ns_ >= least_pause_ns;
}

void Live::write(Glimpse const &glimpse, std::span<std::int64_t const> samples_ns) noexcept {
    if (path_.empty()) {
        return;
    }
    written_ns_ = wall_ns();
    if (fd_ < 0) {
        fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    }
    std::string const text = live_text(glimpse, samples_ns);
    if (fd_ < 0 || text.empty()) {
        return;
    }
    std::array<char, slot_bytes> slot{};
    std::copy(text.begin(), text.end(), slot.begin());
    [[maybe_unused]] ssize_t const written = pwrite(fd_, slot.data(), slot.size(), 0);
}

} // namespace weft
