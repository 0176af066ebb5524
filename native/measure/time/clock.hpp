// SPDX-License-Identifier: BSD-3-Clause
// One time for all ranks (METHOD 6). Ranks of one host share its monotonic clock; hosts are joined by a tree of offset
// measurements, made before and after each cell so that drift is interpolated.
#pragma once

#include "host/platform.hpp"
#include "mpi/team.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

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
    /// Collective. Of a team that has not spoken over MPI yet, the clocks stand as they are until it settles.
    explicit Clock(Team const &team, Now source = platform::now_ns);
    /// Collective, once: checks that ranks of one host do share their clock; if not, each rank is joined to the tree
    /// alone. The constructor does it for a team that speaks over MPI.
    void settle(Team const &team);

    /// This rank's own clock.
    std::int64_t now() const noexcept { return now_(); }
    /// The same instant on rank 0's clock, and back.
    std::int64_t global(std::int64_t local_ns) const noexcept { return local_ns + offset_.at(local_ns); }
    std::int64_t local(std::int64_t global_ns) const noexcept;

    /// Collective: measures the offsets at the begin and at the end of a cell. Between the two, the offset stands
    /// still.
    void begin();
    void end();
    /// Collective, in mid-cell: a check round, if the last measurement was a while ago. It is judged, and serves the
    /// line of a long cell, when end() has closed the clock. Times taken within a cell are raw until then.
    void check_if_due();

    /// True when no clock had to be synchronised.
    bool shared() const noexcept { return shared_; }
    /// Largest error found by the check rounds of the last begin(), of mid-cell and of end(): rank 0's host directly
    /// with every other. The closed line is what is judged, so it holds what a drift that is no line has cost.
    std::int64_t residual_ns() const noexcept { return residual_ns_; }
    /// An impossible time proves that the clocks err by at least so much. The same on every rank.
    void admit(std::int64_t error_ns) noexcept { residual_ns_ = std::max(residual_ns_, error_ns); }
    /// This rank's line, to be handed to who holds raw times of this rank.
    Offset const &line() const noexcept { return offset_; }
    /// No error can be larger: half of the smallest round trips from rank 0 to here, at the last measurement.
    std::int64_t uncertainty_ns() const noexcept { return uncertainty_ns_; }
    /// Largest over the ranks.
    ClockCost const &cost() const noexcept { return cost_; }

  private:
    void measure(bool at_end);
    Offset line_beside(Offset const &parent, std::int64_t local_ns, std::int64_t parents_ns, bool at_end);
    std::int64_t check_round();
    void check_point(int trips);
    void straighten();
    std::int64_t worst_point() const;

    /// A check: this clock and rank 0's at one instant.
    struct Point {
        std::int64_t local_ns;
        std::int64_t ahead_ns; ///< rank 0's clock
    };

    Now now_;
    Comm mates_;   // ranks that read the same clock
    Comm leaders_; // the first of each group of mates; null elsewhere
    bool shared_ = true;
    ClockCost cost_{};
    Offset offset_;
    std::int64_t begun_local_ns_ = 0; // the measurement of begin(): this clock and its parent's
    std::int64_t begun_parents_ns_ = 0;
    double drift_ = 0;            // of the last cell that was long enough to tell
    std::vector<Point> points_;   // of this cell; empty on rank 0's group and on who is no leader
    std::int64_t begun_ns_ = 0;   // rank 0's begin of the cell,
    std::int64_t checked_ns_ = 0; // ... its last check, and after how long the next one is due
    std::int64_t check_each_ns_ = 0;
    std::int64_t residual_ns_ = 0;
    std::int64_t uncertainty_ns_ = 0;
};

} // namespace weft
