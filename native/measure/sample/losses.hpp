// SPDX-License-Identifier: BSD-3-Clause
// What each sample lost to others (METHOD 11). The true time of a sample lies in [t - lost, t].
#pragma once

#include "host/core_share.hpp"
#include "host/platform.hpp"
#include "sample/recorder.hpp"

#include <cstdint>
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
    explicit Losses(Read read = platform::usage, std::int64_t window_ns = long_enough_ns) noexcept
        : read_(read), window_ns_(window_ns) {}

    /// Which ranks share cores; nothing is known of that before the ranks use MPI.
    void know(CoreShare const &cores) noexcept { cores_ = &cores; }
    /// How losses are known, on every rank the same.
    LostBy by() const noexcept;

    /// Before the first sample of a chunk: the last reading.
    void begin() noexcept { last_ = read_(); }
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
    CoreTimes opened_;
    bool is_open_ = false;
    std::vector<Rows> rows_; // of the window
};

} // namespace weft
