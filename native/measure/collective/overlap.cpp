// SPDX-License-Identifier: BSD-3-Clause
#include "collective/overlap.hpp"

#include "cell/size_sweep.hpp"
#include "collective/begun_calls.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace weft {

namespace {

constexpr std::int64_t test_parts = 16;             // of a computation with MPI_Test in between
constexpr std::int64_t calibration_steps = 200'000; // steps of one try, about half a millisecond
constexpr int calibrations = 7;

/// Steps that wait for each other and touch no memory: their time depends on the core's clock alone.
void work_for(std::int64_t steps) {
    static double volatile kept = 1.0;
    double x = kept;
    for (std::int64_t k = 0; k < steps; ++k) {
        x = x * 0.999999 + 1e-6;
    }
    kept = x;
}

/// Shortest of some calibrations: whatever disturbs one makes it longer.
double measured_steps_per_s() {
    double least_s = 1e9;
    for (int k = 0; k < calibrations; ++k) {
        double const begin = PMPI_Wtime();
        work_for(calibration_steps);
        least_s = std::min(least_s, PMPI_Wtime() - begin);
    }
    return double(calibration_steps) / std::max(least_s, 1e-9);
}

void wait_for(MPI_Request *request) {
    check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
}

} // namespace

Overlap::Overlap(Cell const &cell, CollectiveForm const &form, CollectiveData &data)
    : data_(data), collective_(*form.collective), team_(cell.team()), steps_per_s_(measured_steps_per_s()) {}

void Overlap::add_need(Need &need, Cell const &cell, std::int64_t sizes) {
    need.parts.push_back({"overlap samples", Recorder::bytes(5 * sizes, cell.rules())});
}

void Overlap::begin(MPI_Request *request) const {
    begin_call(collective_.name, data_.arguments(), request);
}

/// Steps of a computation as long as the slowest rank's median of the non-blocking call.
std::int64_t Overlap::steps_of_call() const {
    std::array<double, calibrations> seconds{};
    for (double &one : seconds) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(PMPI_Barrier(team_.comm), "MPI_Barrier");
        double const begun = PMPI_Wtime();
        begin(&request);
        wait_for(&request);
        one = PMPI_Wtime() - begun;
    }
    std::nth_element(seconds.begin(), seconds.begin() + calibrations / 2, seconds.end());
    std::int64_t const longest_ns = max_over(team_.comm, std::int64_t(seconds[calibrations / 2] * 1e9));
    return std::max<std::int64_t>(test_parts, std::int64_t(double(longest_ns) * 1e-9 * steps_per_s_));
}

void Overlap::measure(Sampler &sampler, std::string const &op, std::int64_t bytes, std::function<void()> const &call,
                      How how) {
    std::string const whole = op_at(op, bytes);
    std::int64_t const steps = steps_of_call();
    std::vector<Turn> turns;
    turns.push_back({whole + ":alone", [this] {
                         MPI_Request request = MPI_REQUEST_NULL;
                         begin(&request);
                         wait_for(&request);
                     }});
    turns.push_back({whole + ":compute", [steps] { work_for(steps); }});
    turns.push_back({whole + ":hidden", [this, steps] {
                         MPI_Request request = MPI_REQUEST_NULL;
                         begin(&request);
                         work_for(steps);
                         wait_for(&request);
                     }});
    turns.push_back({whole + ":tested", [this, steps] {
                         MPI_Request request = MPI_REQUEST_NULL;
                         begin(&request);
                         for (std::int64_t k = 0; k < test_parts; ++k) {
                             int done = 0;
                             work_for(steps / test_parts);
                             check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
                         }
                         wait_for(&request);
                     }});
    MPI_Request made = MPI_REQUEST_NULL;
    if (make_persistent(collective_.name, data_.arguments(), &made)) {
        turns.push_back({whole + ":persistent", [&made] {
                             check(MPI_Start(&made), "MPI_Start");
                             wait_for(&made);
                         }});
    }
    turns.push_back({whole, call}); // the last one, which the stop rule judges
    sampler.warm_in_turns(turns, how);
    if (made != MPI_REQUEST_NULL) {
        check(PMPI_Request_free(&made), "MPI_Request_free");
    }
}

} // namespace weft
