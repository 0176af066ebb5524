// SPDX-License-Identifier: BSD-3-Clause
// Clock synchronisation of all ranks (METHOD 6). Ranks of one host share its monotonic clock; offsets between hosts are
// measured along a tree, before and after each cell, so that drift is interpolated.
#pragma once

#include "host/platform.hpp"
#include "mpi/team.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {

/// Reads a local clock. A plain function pointer, because it is called between the barrier and the measured call.
using Now = std::int64_t (*)() noexcept;

/// Offset of rank 0's clock from this rank's: a straight line over this rank's time.
struct Offset {
    std::int64_t local_ns = 0; ///< time of the measurement
    std::int64_t ns = 0;       ///< offset at that time
    double drift = 0;          ///< change of the offset per nanosecond

    std::int64_t at(std::int64_t local) const noexcept;
};

/// Cost of a clock read, and the resolution of the clock.
struct ClockCost {
    std::int64_t resolution_ns;
    std::int64_t cost_ns;
};
ClockCost measure_clock(Now now);

class Clock {
  public:
    /// Collective. The clocks of a team with a back channel are not synchronised until `settle`.
    explicit Clock(Team const &team, Now source = platform::now_ns);
    /// Collective, once: checks that ranks of one host share their clock; if not, each rank is a separate member of the
    /// tree. The constructor calls it for a team that uses MPI.
    void settle(Team const &team);

    /// This rank's own clock.
    std::int64_t now() const noexcept { return now_(); }
    /// The same instant on rank 0's clock, and back.
    std::int64_t global(std::int64_t local_ns) const noexcept { return local_ns + offset_.at(local_ns); }
    std::int64_t local(std::int64_t global_ns) const noexcept;

    /// Collective: measures the offsets at the beginning and at the end of a cell. The offset line does not change in
    /// between.
    void begin();
    void end();
    /// Collective, within a cell: a check round, if the last measurement is long enough ago. It is evaluated, and used
    /// for the line of a long cell, when end() closes the clock. Times within a cell are raw until then.
    void check_if_due();

    /// True if no clock needed synchronisation.
    bool shared() const noexcept { return shared_; }
    /// Largest error in ns found by the check rounds of the last begin(), within the cell and of end(), between rank
    /// 0's host and each other directly. The final line is checked, so the error includes that of a drift that is not
    /// linear.
    std::int64_t residual_ns() const noexcept { return residual_ns_; }
    /// Raises the error to that proved by an impossible time. The same on every rank.
    void admit(std::int64_t error_ns) noexcept { residual_ns_ = std::max(residual_ns_, error_ns); }
    /// This rank's line, for ranks that have raw times of this rank.
    Offset const &line() const noexcept { return offset_; }
    /// Upper limit of the error: half of the smallest round trips from rank 0 to this rank, at the last measurement.
    std::int64_t uncertainty_ns() const noexcept { return uncertainty_ns_; }
    /// The largest over all ranks.
    ClockCost const &cost() const noexcept { return cost_; }

  private:
    void measure(bool at_end);
    Offset line_beside(Offset const &parent, std::int64_t local_ns, std::int64_t parents_ns, bool at_end);
    std::int64_t check_round();
    void check_point();
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
    std::int64_t begun_local_ns_ = 0; // measurement of begin(): this clock and its parent's
    std::int64_t begun_parents_ns_ = 0;
    double drift_ = 0;            // of the last cell that was long enough to measure it
    std::vector<Point> points_;   // of this cell; empty in rank 0's group and on ranks that are not leaders
    std::int64_t begun_ns_ = 0;   // beginning of the cell on rank 0's clock,
    std::int64_t checked_ns_ = 0; // ... its last check, and after how long the next one is due
    std::int64_t check_each_ns_ = 0;
    std::int64_t residual_ns_ = 0;
    std::int64_t uncertainty_ns_ = 0;
};

} // namespace weft
