// SPDX-License-Identifier: BSD-3-Clause
#include "clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace weft {

namespace {

constexpr int tag = 7;
constexpr int round_trips = 50;
constexpr int check_trips = 20;

/// The other's clock less mine, at the smallest round trip of several.
struct Measured {
    std::int64_t local_ns = 0;  // my time of the measurement
    std::int64_t theirs_ns = 0; // their time of it
    std::int64_t round_trip_ns = std::numeric_limits<std::int64_t>::max();
};

/// Asks `other` for its time. A round trip that was disturbed is longer than the smallest; half of that is all the
/// error an offset can have.
Measured ask(MPI_Comm comm, int other, int trips, Now now) {
    Measured best;
    for (int i = 0; i < trips; ++i) {
        std::int64_t theirs = 0;
        std::int64_t const sent = now();
        check(PMPI_Send(&sent, 1, MPI_INT64_T, other, tag, comm), "MPI_Send of a clock's question");
        check(PMPI_Recv(&theirs, 1, MPI_INT64_T, other, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv of a clock's answer");
        std::int64_t const received = now();
        if (received - sent < best.round_trip_ns) {
            best = {sent + (received - sent) / 2, theirs, received - sent};
        }
    }
    return best;
}

void answer(MPI_Comm comm, int other, int trips, Now now) {
    for (int i = 0; i < trips; ++i) {
        std::int64_t question = 0;
        check(PMPI_Recv(&question, 1, MPI_INT64_T, other, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv of a question");
        std::int64_t const mine = now();
        check(PMPI_Send(&mine, 1, MPI_INT64_T, other, tag, comm), "MPI_Send of the time");
    }
}

/// True when the clocks of all ranks of `mates` read the same: every answer was given between question and receipt.
bool read_the_same(Comm const &mates, Now now) {
    int const rank = mates.rank();
    int const size = mates.size();
    std::int64_t odd = 0;
    for (int other = 1; other < size; ++other) {
        if (rank == 0) {
            answer(mates, other, 5, now);
        } else if (rank == other) {
            Measured const measured = ask(mates, 0, 5, now);
            odd = std::abs(measured.theirs_ns - measured.local_ns) > measured.round_trip_ns / 2 + 1;
        }
    }
    return max_over(mates, odd) == 0;
}

} // namespace

ClockCost measure_clock(Now now) {
    std::array<std::int64_t, 2000> steps{};
    std::int64_t const began = now();
    std::int64_t last = began;
    for (std::int64_t &step : steps) {
        std::int64_t const read = now();
        step = read - last;
        last = read;
    }
    if (last == began) {
        return {0, 0}; // a simulated clock stands still while it is read, and is exact
    }
    // The smallest step seen is no finer than the cost of a read. What the clock can show is the smallest difference
    // between two steps, or between a step and none.
    std::sort(steps.begin(), steps.end());
    std::int64_t resolution = std::numeric_limits<std::int64_t>::max();
    std::int64_t previous = 0;
    for (std::int64_t const step : steps) {
        if (step > previous) {
            resolution = std::min(resolution, step - previous);
        }
        previous = step;
    }
    return {resolution, std::max<std::int64_t>(1, (last - began) / std::int64_t(steps.size()))};
}

std::int64_t Offset::at(std::int64_t local) const noexcept {
    return ns + std::llround(drift * double(local - local_ns));
}

Clock::Clock(Team const &team, Now source) : now_(source) {
    mates_ = platform::one_clock() ? Comm::duplicate(team.comm) : Comm::split_shared(team.node_comm, team.rank);
    bool const same = platform::one_clock() || read_the_same(mates_, now_);
    if (max_over(team.comm, same ? 0 : 1) != 0) {
        mates_ = Comm::split(team.comm, team.rank, 0);
    }
    int const rank_of_mates = mates_.rank();
    leaders_ = Comm::split(team.comm, rank_of_mates == 0 ? 0 : MPI_UNDEFINED, team.rank);
    shared_ = sum_over(team.comm, rank_of_mates == 0 ? 1 : 0) == 1;
    ClockCost const mine = measure_clock(now_);
    cost_ = {max_over(team.comm, mine.resolution_ns), max_over(team.comm, mine.cost_ns)};
    if (!shared_) {
        // A first idea of the drift, or a window start seconds into the first cell would be off by microseconds.
        begin();
        platform::sleep_ns(200'000'000);
        end();
    }
}

std::int64_t Clock::local(std::int64_t global_ns) const noexcept {
    // global = local + ns + drift (local - local_ns), solved for local.
    std::int64_t const passed = global_ns - offset_.ns - offset_.local_ns;
    return offset_.local_ns + std::llround(double(passed) / (1 + offset_.drift));
}

// This rank's line, from its parent's and from both clocks at one instant. At the end of a cell the parent's line is
// the final one, so the instant of the begin is looked up in it anew: the parent's drift was not known then.
Offset Clock::line_beside(Offset const &parent, std::int64_t local_ns, std::int64_t parents_ns, bool at_end) {
    std::int64_t const offset = parents_ns - local_ns + parent.at(parents_ns);
    if (!at_end) {
        begun_local_ns_ = local_ns;
        begun_parents_ns_ = parents_ns;
        return {local_ns, offset, drift_};
    }
    std::int64_t const begun = begun_parents_ns_ - begun_local_ns_ + parent.at(begun_parents_ns_);
    std::int64_t const passed = std::max<std::int64_t>(local_ns - begun_local_ns_, 1);
    double const drift = double(offset - begun) / double(passed);
    // Within the cell the line holds however short it was; beyond it, only where the errors of both ends were small
    // against its length.
    constexpr std::int64_t long_enough_ns = 100'000'000;
    drift_ = passed > long_enough_ns ? drift : drift_;
    return {begun_local_ns_, begun, drift};
}

// A binomial tree: in each level, leaders that know their line serve leaders that do not, pair by pair. What is handed
// on is the line, not a number, because time passes between the levels.
void Clock::measure(bool at_end) {
    struct Known {
        Offset line;
        std::int64_t uncertainty_ns;
    };
    Known known{{now_(), 0, 0}, 0}; // rank 0 is right by definition
    if (!leaders_.null()) {
        int const rank = leaders_.rank();
        int const size = leaders_.size();
        int step = 1;
        while (step < size) {
            step *= 2;
        }
        for (step /= 2; step > 0; step /= 2) {
            if (rank % (2 * step) == 0 && rank + step < size) {
                answer(leaders_, rank + step, round_trips, now_);
                check(PMPI_Send(&known, sizeof known, MPI_BYTE, rank + step, tag, leaders_), "MPI_Send of an offset");
            } else if (rank % (2 * step) == step) {
                Measured const measured = ask(leaders_, rank - step, round_trips, now_);
                check(PMPI_Recv(&known, sizeof known, MPI_BYTE, rank - step, tag, leaders_, MPI_STATUS_IGNORE),
                      "MPI_Recv of an offset");
                known.line = line_beside(known.line, measured.local_ns, measured.theirs_ns, at_end);
                known.uncertainty_ns += measured.round_trip_ns / 2;
            }
        }
    }
    check(PMPI_Bcast(&known, sizeof known, MPI_BYTE, 0, mates_), "MPI_Bcast of an offset");
    offset_ = known.line;
    uncertainty_ns_ = known.uncertainty_ns;
}

// The first leader with every other directly: for all but log2 of them not the pair that was measured.
std::int64_t Clock::check_round() {
    std::int64_t error = 0;
    if (!leaders_.null()) {
        int const rank = leaders_.rank();
        int const size = leaders_.size();
        for (int other = 1; other < size; ++other) {
            if (rank == 0) {
                answer(leaders_, other, check_trips, now_);
            } else if (rank == other) {
                Measured const measured = ask(leaders_, 0, check_trips, now_);
                error = std::abs(measured.theirs_ns - global(measured.local_ns));
            }
        }
        error = max_over(leaders_, error);
    }
    check(PMPI_Bcast(&error, 1, MPI_INT64_T, 0, mates_), "MPI_Bcast of the clock residual");
    return error;
}

void Clock::begin() {
    if (!shared_) {
        measure(false);
        residual_ns_ = check_round();
    }
}

void Clock::end() {
    if (!shared_) {
        measure(true);
        residual_ns_ = std::max(residual_ns_, check_round());
    }
}

} // namespace weft
