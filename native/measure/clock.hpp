// SPDX-License-Identifier: BSD-3-Clause
// One time for all ranks (METHOD 6). Ranks of one host share its monotonic clock; hosts are joined by a tree of offset
// measurements, made before and after each cell so that drift is interpolated.
#pragma once

#include "platform.hpp"
#include "team.hpp"

#include <cstdint>

namespace weft {

/// Reads a local clock. A plain function pointer, because it is called between the barrier and the measured call.
using Now = std::int64_t (*)() noexcept;

/// How far rank 0's clock is ahead of this rank's: a straight line over this rank's time.
struct Offset {
    std::int64_t local_ns = 0; ///< where it was measured
    std::int64_t ns = 0;       ///< what it was there
    double drift = 0;          ///< what it gains in a nanosecond

    std::int64_t at(std::int64_t local) const noexcept;
};

/// What one clock read costs, and the smallest step it shows.
struct ClockCost {
    std::int64_t resolution_ns;
    std::int64_t cost_ns;
};
ClockCost measure_clock(Now now);

class Clock {
  public:
    /// Collective. Checks that ranks of one host do share their clock; if not, each rank is joined to the tree alone.
    explicit Clock(Team const &team, Now source = platform::now_ns);

    /// This rank's own clock.
    std::int64_t now() const noexcept { return now_(); }
    /// The same instant on rank 0's clock, and back.
    std::int64_t global(std::int64_t local_ns) const noexcept { return local_ns + offset_.at(local_ns); }
    std::int64_t local(std::int64_t global_ns) const noexcept;

    /// Collective: measures the offsets at the begin and at the end of a cell. Between the two, the offset stands
    /// still.
    void begin();
    void end();

    /// True when no clock had to be synchronised.
    bool shared() const noexcept { return shared_; }
    /// Largest error found by the check rounds of the last begin() and end(): rank 0's host directly with every other.
    std::int64_t residual_ns() const noexcept { return residual_ns_; }
    /// No error can be larger: half of the smallest round trips from rank 0 to here, at the last measurement.
    std::int64_t uncertainty_ns() const noexcept { return uncertainty_ns_; }
    /// Largest over the ranks.
    ClockCost const &cost() const noexcept { return cost_; }

  private:
    void measure(bool at_end);
    Offset line_beside(Offset const &parent, std::int64_t local_ns, std::int64_t parents_ns, bool at_end);
    std::int64_t check_round();

    Now now_;
    Comm mates_;   // ranks that read the same clock
    Comm leaders_; // the first of each group of mates; null elsewhere
    bool shared_ = true;
    ClockCost cost_{};
    Offset offset_;
    std::int64_t begun_local_ns_ = 0; // the measurement of begin(): this clock and its parent's
    std::int64_t begun_parents_ns_ = 0;
    double drift_ = 0; // of the last cell that was long enough to tell
    std::int64_t residual_ns_ = 0;
    std::int64_t uncertainty_ns_ = 0;
};

} // namespace weft
