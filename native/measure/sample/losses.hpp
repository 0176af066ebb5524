// SPDX-License-Identifier: BSD-3-Clause
// What each sample lost to others (METHOD 11). The true time of a sample lies in [t - lost, t].
#pragma once

#include "host/core_share.hpp"
#include "host/platform.hpp"
#include "sample/recorder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// What the counters say of the time between two readings, by this kernel's way of knowing.
std::int64_t lost_between(platform::Usage const &before, platform::Usage const &after) noexcept;

/// Reads this rank's counters between samples, and the processor time of others between chunks of samples if ranks
/// share cores by plan.
class Losses {
  public:
    /// Reads the counters of the calling thread. Another one than the platform's is for tests.
    using Read = platform::Usage (*)() noexcept;
    /// A window is `window_ns` long at least: the kernel counts busy cores in ticks of some ms.
    static constexpr std::int64_t long_enough_ns = 500'000'000;
    explicit Losses(Read reader = platform::usage, std::int64_t window_ns = long_enough_ns) noexcept
        : read_(reader), window_ns_(window_ns) {}

    /// Which ranks share cores; nothing is known of that before the ranks use MPI.
    void know(CoreShare const &cores) noexcept { cores_ = &cores; }
    /// How losses are known, on every rank the same.
    LostBy by() const noexcept;

    /// Short samples share a reading: none sooner than this after the last.
    static constexpr std::int64_t apart_ns = 50'000;

    /// Before the first sample of a chunk: the last reading, and its time for those who ask what is due.
    void begin(std::int64_t now_ns = 0) noexcept {
        last_ = read_();
        read_ns_ = now_ns;
    }
    /// Whether the last reading is old enough, after a sample that ended at `end_ns`.
    bool due(std::int64_t end_ns) const noexcept { return end_ns - read_ns_ >= apart_ns; }
    /// After samples that share a reading: nobody knows which of them lost it, so each may have lost it all.
    void book(std::span<Row> samples, std::int64_t end_ns) noexcept {
        std::int64_t const lost = next();
        read_ns_ = end_ns;
        for (Row &sample : samples) {
            sample.lost = lost;
        }
    }
    /// After a sample: what this rank lost since the last reading. The wait for the start is part of it, because
    /// nothing may run between barrier and call.
    std::int64_t next() noexcept;
    /// The same for readings that others keep.
    platform::Usage read() const noexcept { return read_(); }
    std::int64_t between(platform::Usage const &before, platform::Usage const &after) const noexcept;

    /// Collective, if ranks share cores: opens a window of time, unless one is open.
    void open_window();
    /// Collective, if ranks share cores: rows were added to the record. True, on every rank, if the window was long
    /// enough for the kernel's ticks and was closed: its rows now have their share of what others took.
    bool add(MPI_Comm comm, std::vector<Segment *> const &segments, std::int64_t count);
    /// Collective, if ranks share cores, at the end of a cell: closes the window, however short.
    void close_window();

  private:
    bool by_others() const noexcept { return cores_ != nullptr && cores_->by_plan(); }

    struct Rows {
        Segment *segment; ///< of the record, which keeps its place
        std::int64_t first;
        std::int64_t count;
    };

    Read read_;
    std::int64_t window_ns_;
    CoreShare const *cores_ = nullptr;
    platform::Usage last_;
    std::int64_t read_ns_ = 0;
    CoreTimes opened_;
    bool is_open_ = false;
    std::vector<Rows> rows_; // of the window
};

} // namespace weft
