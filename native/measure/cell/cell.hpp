// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/error.hpp"
#include "mpi/team.hpp"
#include "record/plan.hpp"
#include "sample/sampler.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Outcome of the proof of a cell's result (METHOD 12).
struct Validation {
    bool performed = false;
    std::int64_t errors = 0;
    std::string detail = "this kernel has nothing to prove";
};

/// One point of the sweep, as a kernel sees it.
class Cell {
  public:
    Cell(Plan const &plan, CellPlan const &values, Team const &team, MPI_Comm launch = MPI_COMM_NULL)
        : plan_(plan), values_(values), team_(team), launch_(launch) {}

    std::string const &name() const noexcept { return values_.name; }
    std::string const &kernel() const noexcept { return values_.kernel; }
    std::string const &hash() const noexcept { return values_.hash; }

    /// The plan's values; throws Failure on every rank if a key is missing or not an integer.
    bool has(std::string_view key) const;
    std::string const &text(std::string_view key) const;
    std::string text(std::string_view key, std::string_view otherwise) const;
    std::int64_t integer(std::string_view key) const;
    std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
    /// The words of a value, like `calls A B C`.
    std::vector<std::string> words(std::string_view key) const;

    std::uint64_t seed() const noexcept { return plan_.seed; }
    std::int64_t launch_index() const noexcept { return plan_.launch_index; }
    Rules const &rules() const noexcept { return plan_.rules; }
    Team const &team() const noexcept { return team_; }
    /// All ranks of the launch: to reach those that do not measure the cell.
    MPI_Comm launch() const noexcept { return launch_; }
    /// Only valid in the kernel's run(), not in its need().
    Sampler &sampler() const noexcept { return *sampler_; }
    void use(Sampler &sampler, Clock *clock = nullptr) noexcept {
        sampler_ = &sampler;
        clock_ = clock;
    }

    /// Collective, between samples: a check of the clock within a cell, if one is due.
    void check_clock() {
        if (clock_ != nullptr) {
            clock_->check_if_due();
        }
    }
    /// Records a clock error that an impossible time has proved; the same on every rank.
    void admit_clock_error(std::int64_t error_ns) {
        if (clock_ != nullptr && !clock_->shared()) {
            clock_->admit(error_ns);
        }
    }
    /// Defers `work` until the clock of the cell is closed: before that, times of two ranks are not comparable.
    /// Collective: the same calls on every rank.
    void once_closed(std::function<void()> work) { closing_.push_back(std::move(work)); }
    /// Collective, after the kernel's run and the closing of the clock: does the deferred work.
    void close() {
        for (auto const &work : closing_) {
            work();
        }
        closing_.clear();
    }

    /// Collective: sets the result of the proof from the errors of each rank; the detail of the lowest rank with errors
    /// is kept. Any error makes the cell `invalid`.
    void set_validation(std::int64_t errors, std::string const &detail);
    /// Sets the reason why nothing was proved; the same on every rank.
    void skip_validation(std::string reason);
    Validation const &validation() const noexcept { return validation_; }

    /// Adds a warning for the user, with cause and remedy. Only those of rank 0 are kept.
    void warn(std::string warning) { warnings_.push_back(std::move(warning)); }
    std::vector<std::string> const &warnings() const noexcept { return warnings_; }

  private:
    Plan const &plan_;
    CellPlan const &values_;
    Team const &team_;
    MPI_Comm launch_;
    Sampler *sampler_ = nullptr;
    Clock *clock_ = nullptr;
    std::vector<std::function<void()>> closing_;
    Validation validation_;
    std::vector<std::string> warnings_;
};

/// Collective: if any rank has a reason, all ranks throw Refusal(status, reason of the lowest such rank).
void refuse_together(Team const &team, std::string const &status, std::optional<std::string> const &reason);

#ifdef WEFT_FAULTS // tests' binaries alone: what users run asks no environment, and has no code for faults
/// True if WEFT_PLANT=fault or WEFT_PLANT=fault:cell requests this fault in this cell.
bool planted(Cell const &cell, std::string_view fault);
#else
constexpr bool planted(Cell const &, std::string_view) {
    return false;
}
#endif

} // namespace weft
