// SPDX-License-Identifier: BSD-3-Clause
// What whoever watches a launch sees of the running operation: its samples so far, in a slot of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// The operation that is being measured. Times are those of a sample of `batch` operations.
struct Glimpse {
    std::string_view cell;
    std::string_view op;
    std::int64_t batch = 1;
    std::int64_t median_ns = 0;
    std::int64_t low_ns = 0; ///< 95 % interval of the median so far; 0 where there are too few samples for one
    std::int64_t high_ns = 0;
};

/// The slot's text: `weft-live/1 <cell> <op> <batch> <samples> <median> <low> <high> <last samples...> <crc32>`; as
/// many of the last samples as fit. Empty if not even the head fits.
std::string live_text(Glimpse const &glimpse, std::span<std::int64_t const> samples_ns);

/// The slot in launches/<launch>.live. Only one rank of a launch writes at a time.
class Live {
  public:
    static constexpr std::size_t slot_bytes = 512;

    /// Without a path nothing is written (tests, bare loops).
    explicit Live(std::string path = "") : path_(std::move(path)) {}
    Live(Live const &) = delete;
    Live &operator=(Live const &) = delete;
    ~Live();

    /// Whether the last write was long enough ago: at most five a second, whatever is measured.
    bool due() const noexcept;

    /// Best effort: a full disk or a lost folder disturbs no measurement. Must not be called between two clock reads.
    void write(Glimpse const &glimpse, std::span<std::int64_t const> samples_ns) noexcept;

  private:
    std::string path_;
    int fd_ = -1;
    std::int64_t written_ns_ = 0;
};

} // namespace weft
