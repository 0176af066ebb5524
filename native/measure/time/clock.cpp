// SPDX-License-Identifier: BSD-3-Clause
#include "time/clock.hpp"

#include "mpi/agree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace weft {

namespace {

constexpr int clock_tag = 7;
constexpr int round_trips = 50;
constexpr int check_trips = 20;
constexpr int fewest_trips = 5;                 // where those after the first, for which `other` may be busy, take
constexpr std::int64_t usual_trip_ns = 400'000; // longer than this, on average
constexpr std::int64_t soonest_check_ns = 100'000'000; // then after an eighth of the cell's time so far, up to
constexpr std::int64_t rarest_check_ns = 2'000'000'000;
constexpr std::int64_t check_share = 50; // checks take at most this part of the time
constexpr std::size_t fewest_points = 5; // of a regression

/// The other rank's clock minus this rank's, at the smallest of several round trips.
struct OffsetReading {
    std::int64_t local_ns = 0;  // this rank's time of the measurement
    std::int64_t theirs_ns = 0; // the other rank's time of it
    std::int64_t round_trip_ns = std::numeric_limits<std::int64_t>::max();
};

/// Asks `other` for its time, at most so often; the last question says so. Disturbed round trips are longer than the
/// smallest; the error of an offset is at most half of the smallest.
OffsetReading ask(MPI_Comm comm, int other, int trips, Now now) {
    OffsetReading best;
    std::int64_t spent_ns = 0;
    std::int64_t last = 0; // as long as the answer
    for (int i = 1; last == 0; ++i) {
        last = i == trips || (i >= fewest_trips && spent_ns > trips * usual_trip_ns) ? 1 : 0;
        std::int64_t theirs = 0;
        std::int64_t const sent = now();
        check(PMPI_Send(&last, 1, MPI_INT64_T, other, clock_tag, comm), "MPI_Send of a clock's question");
        check(PMPI_Recv(&theirs, 1, MPI_INT64_T, other, clock_tag, comm, MPI_STATUS_IGNORE),
              "MPI_Recv of a clock's answer");
        std::int64_t const received = now();
        spent_ns += i > 1 ? received - sent : 0;
        if (received - sent < best.round_trip_ns) {
            best = {sent + (received - sent) / 2, theirs, received - sent};
        }
    }
    return best;
}

void answer(MPI_Comm comm, int other, Now now) {
    for (std::int64_t last = 0; last == 0;) {
        check(PMPI_Recv(&last, 1, MPI_INT64_T, other, clock_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv of a question");
        std::int64_t const mine = now();
        check(PMPI_Send(&mine, 1, MPI_INT64_T, other, clock_tag, comm), "MPI_Send of the time");
    }
}

/// True if all ranks of `mates` read the same clock: every answer lies between request and receipt.
bool read_the_same(Comm const &mates, Now now) {
    int const rank = mates.rank();
    int const size = mates.size();
    std::int64_t odd = 0;
    for (int other = 1; other < size; ++other) {
        if (rank == 0) {
            answer(mates, other, now);
        } else if (rank == other) {
            OffsetReading const measured = ask(mates, 0, fewest_trips, now);
            odd = std::abs(measured.theirs_ns - measured.local_ns) > measured.round_trip_ns / 2 + 1;
        }
    }
    return max_over(mates, odd) == 0;
}

} // namespace

std::int64_t Offset::at(std::int64_t local) const noexcept {
    return ns + std::llround(drift * double(local - local_ns));
}

Clock::Clock(Team const &team, Now source) : now_(source), shared_(team.nodes == 1) {
    ClockCost const mine = measure_clock(now_);
    cost_ = {max_over(team, mine.resolution_ns), max_over(team, mine.cost_ns)};
    if (!team.back) {
        settle(team);
    }
}

void Clock::settle(Team const &team) {
    mates_ = platform::one_clock() ? Comm::duplicate(team.comm) : Comm::split_shared(team.node_comm, team.rank);
    bool const same = platform::one_clock() || read_the_same(mates_, now_);
    if (max_over(team.comm, same ? 0 : 1) != 0) {
        mates_ = Comm::split(team.comm, team.rank, 0);
    }
    int const rank_of_mates = mates_.rank();
    leaders_ = Comm::split(team.comm, rank_of_mates == 0 ? 0 : MPI_UNDEFINED, team.rank);
    shared_ = sum_over(team.comm, rank_of_mates == 0 ? 1 : 0) == 1;
    if (!shared_) {
        // A first estimate of the drift, without which a window start seconds into the first cell would err by
        // microseconds.
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

// This rank's line, from its parent's line and from both clocks at one instant. At the end of a cell the parent's line
// is final, so the instant of the beginning is evaluated on it again: the parent's drift was not known before.
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
    // Within the cell the line is valid for any length; beyond it, only if the errors at both ends are small against
    // its length.
    constexpr std::int64_t long_enough_ns = 100'000'000;
    drift_ = passed > long_enough_ns ? drift : drift_;
    return {begun_local_ns_, begun, drift};
}

// A binomial tree: in each level, leaders with a known line are paired with leaders without one. They pass on the line,
// not a single offset, because time passes between the levels.
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
                answer(leaders_, rank + step, now_);
                check(PMPI_Send(&known, sizeof known, MPI_BYTE, rank + step, clock_tag, leaders_),
                      "MPI_Send of an offset");
            } else if (rank % (2 * step) == step) {
                OffsetReading const measured = ask(leaders_, rank - step, round_trips, now_);
                check(PMPI_Recv(&known, sizeof known, MPI_BYTE, rank - step, clock_tag, leaders_, MPI_STATUS_IGNORE),
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

// The first leader with every other one directly: for all but log2 of them a different pair than the one measured.
std::int64_t Clock::check_round() {
    std::int64_t error = 0;
    if (!leaders_.null()) {
        int const rank = leaders_.rank();
        int const size = leaders_.size();
        for (int other = 1; other < size; ++other) {
            if (rank == 0) {
                answer(leaders_, other, now_);
            } else if (rank == other) {
                OffsetReading const measured = ask(leaders_, 0, check_trips, now_);
                error = std::abs(measured.theirs_ns - global(measured.local_ns));
            }
        }
        error = max_over(leaders_, error);
    }
    check(PMPI_Bcast(&error, 1, MPI_INT64_T, 0, mates_), "MPI_Bcast of the clock residual");
    return error;
}

// As check_round, but the results are kept: within a cell the final line to compare them with is not yet known.
void Clock::check_point() {
    if (leaders_.null()) {
        return;
    }
    int const rank = leaders_.rank();
    int const size = leaders_.size();
    for (int other = 1; other < size; ++other) {
        if (rank == 0) {
            answer(leaders_, other, now_);
        } else if (rank == other) {
            OffsetReading const measured = ask(leaders_, 0, check_trips, now_);
            points_.push_back({measured.local_ns, measured.theirs_ns - measured.local_ns});
        }
    }
}

void Clock::check_if_due() {
    if (shared_) {
        return;
    }
    int due = 0;
    if (!leaders_.null()) {
        due = leaders_.rank() == 0 && now_() - checked_ns_ >= check_each_ns_ ? 1 : 0;
        check(PMPI_Bcast(&due, 1, MPI_INT, 0, leaders_), "MPI_Bcast of a clock check");
    }
    check(PMPI_Bcast(&due, 1, MPI_INT, 0, mates_), "MPI_Bcast of a clock check");
    if (due != 0) {
        std::int64_t const began = now_();
        check_point();
        checked_ns_ = now_();
        std::int64_t const part = (checked_ns_ - begun_ns_) / 8;
        check_each_ns_ =
            std::max(std::clamp(part, soonest_check_ns, rarest_check_ns), check_share * (checked_ns_ - began));
    }
}

// A least-squares line through all points of a long cell, as HCA3 has it (Hunold and Carpen-Amarie, "Hierarchical clock
// synchronization in MPI", CLUSTER 2018): it does not depend on the errors of only two measurements. Used if its errors
// at the points are smaller than those of the line through both ends.
void Clock::straighten() {
    Offset line = offset_;
    if (!leaders_.null() && points_.size() >= fewest_points) {
        std::int64_t const first = points_.front().local_ns;
        double const n = double(points_.size());
        double x = 0, y = 0, xx = 0, xy = 0;
        for (Point const &point : points_) {
            double const at = double(point.local_ns - first);
            double const left = double(point.ahead_ns - offset_.at(point.local_ns));
            x += at, y += left, xx += at * at, xy += at * left;
        }
        double const slope = (n * xy - x * y) / (n * xx - x * x);
        std::int64_t const ahead = offset_.at(first) + std::llround((y - slope * x) / n);
        std::int64_t const before = worst_point();
        offset_ = {first, ahead, offset_.drift + slope};
        line = worst_point() < before ? offset_ : line;
    }
    check(PMPI_Bcast(&line, sizeof line, MPI_BYTE, 0, mates_), "MPI_Bcast of a clock's line");
    offset_ = line;
}

std::int64_t Clock::worst_point() const {
    std::int64_t worst = 0;
    for (Point const &point : points_) {
        worst = std::max(worst, std::abs(point.ahead_ns - offset_.at(point.local_ns)));
    }
    return worst;
}

void Clock::begin() {
    if (!shared_) {
        points_.clear();
        measure(false);
        residual_ns_ = check_round();
        check_point();
        begun_ns_ = checked_ns_ = now_();
        check_each_ns_ = soonest_check_ns;
    }
}

void Clock::end() {
    if (!shared_) {
        check_point();
        measure(true);
        straighten();
        std::int64_t error = worst_point();
        if (!leaders_.null()) {
            error = max_over(leaders_, error);
        }
        check(PMPI_Bcast(&error, 1, MPI_INT64_T, 0, mates_), "MPI_Bcast of the clock residual");
        residual_ns_ = std::max({residual_ns_, error, check_round()});
    }
}

} // namespace weft
