// SPDX-License-Identifier: BSD-3-Clause
// One cell of a kernel, measured by a real sampler with a handful of samples.
#pragma once

#include "cell/kernels.hpp"
#include "time/barrier.hpp"
#include "time/clock.hpp"

#include <cstdlib>
#include <map>
#include <string>

/// The measuring ranks and their shared objects. Made once for all tests of a file: a dozen communicators take seconds
/// if eight ranks of a busy-waiting library share two cores.
struct MeasuringRanks {
    explicit MeasuringRanks(MPI_Comm comm)
        : team(weft::make_team(comm)), clock(team), barrier(team, clock, weft::Start::barrier) {}

    static MeasuringRanks &all() {
        static MeasuringRanks ranks(MPI_COMM_WORLD);
        return ranks;
    }

    weft::Team team;
    weft::Clock clock;
    weft::Barrier barrier;
};

class MeasuredCell {
  public:
    using Values = std::map<std::string, std::string, std::less<>>;

    MeasuredCell(char const *kernel, Values values, MeasuringRanks &ranks = MeasuringRanks::all())
        : team_(ranks.team), plan_(quick_plan()), values_{"c007", kernel, "", std::move(values)},
          cell_(plan_, values_, team_), sampler_(team_, ranks.clock, ranks.barrier, plan_.rules, recorder_, status_),
          kernel_(weft::kernel_named(kernel)) {
        cell_.use(sampler_);
    }

    weft::Need need() { return kernel_.need(cell_); }
    weft::Validation const &run() {
        kernel_.run(cell_);
        return cell_.validation();
    }
    /// "A cold, B cold, ..." as recorded.
    std::string segments() const {
        std::string all;
        for (auto const &segment : recorder_.segments()) {
            all += (all.empty() ? "" : ", ") + segment.op + " " + weft::name(segment.phase);
        }
        return all;
    }
    weft::Segment const *segment(std::string const &op, weft::Phase phase) const {
        for (auto const &found : recorder_.segments()) {
            if (found.op == op && found.phase == phase) {
                return &found;
            }
        }
        return nullptr;
    }
    weft::Recorder const &recorder() const { return recorder_; }
    weft::Team const &team() const { return team_; }
    weft::Cell const &cell() const { return cell_; }

  private:
    static weft::Plan quick_plan() {
        weft::Plan plan;
        plan.seed = 5;
        plan.rules = {0.05, 2, 3, 2, 2'000'000};
        return plan;
    }

    weft::Team const &team_;
    weft::Plan plan_;
    weft::CellPlan values_;
    weft::Cell cell_;
    weft::Recorder recorder_;
    weft::Status status_;
    weft::Sampler sampler_;
    weft::Kernel const &kernel_;
};

/// Sets WEFT_PLANT in the environment during its lifetime.
class PlantedFault {
  public:
    explicit PlantedFault(char const *fault) { ::setenv("WEFT_PLANT", fault, 1); }
    PlantedFault(PlantedFault const &) = delete;
    PlantedFault &operator=(PlantedFault const &) = delete;
    ~PlantedFault() { ::unsetenv("WEFT_PLANT"); }
};

/// Why a cell is refused before anything is allocated.
inline std::string refusal_of(MeasuredCell &cell) {
    try {
        cell.need();
    } catch (weft::Refusal const &refusal) {
        return refusal.status() + ": " + refusal.what();
    } catch (weft::Failure const &failure) {
        return failure.what();
    }
    return "no refusal";
}
