// SPDX-License-Identifier: BSD-3-Clause
#include "fake_clock.hpp"
#include "sample/recorder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

/// Reads of the clock on a rank until a measurement of offsets ends: one, two for each of `trips` questions to its
/// parent in the binomial tree, and one for each that a child asks.
std::int64_t reads_of_a_measurement(int rank, int size, int trips = 50) {
    std::int64_t reads = rank == 0 ? 1 : 1 + 2 * trips;
    for (int step = 1; step < size && rank % (2 * step) == 0; step *= 2) {
        reads += rank + step < size ? trips : 0;
    }
    return reads;
}

/// Reads of the clock by two rounds in which the first rank asks nobody and each other one `trips` times.
std::int64_t reads_of_checks(int rank, int size, int trips) {
    return 2 * trips * (rank == 0 ? size - 1 : 2);
}

/// Time of rank 0's fake clock at the instant `true_ns`.
std::int64_t rank_0_at(weft::Team const &team, std::int64_t true_ns) {
    Fake theirs = fake;
    PMPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, 0, team.comm);
    return theirs.at(true_ns);
}

/// The error bound of the method if 8 ranks share 2 cores and a round trip takes milliseconds, plus a margin for a
/// preemption between this test's own two clock reads.
std::int64_t tolerance_ns(weft::Team const &team, weft::Clock const &clock) {
    return 50'000 + weft::max_over(team.comm, clock.uncertainty_ns());
}

std::int64_t distance(std::int64_t a, std::int64_t b) {
    return std::abs(a - b);
}

} // namespace

TEST_CASE("on one host all ranks read one clock") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Clock clock(team);
    CHECK(clock.shared());
    clock.begin();
    clock.end();
    CHECK(clock.residual_ns() == 0);
    CHECK(clock.global(12345) == 12345);
    CHECK(clock.local(12345) == 12345);
    CHECK(clock.cost().cost_ns >= 1);
    CHECK(clock.cost().cost_ns < 20'000);
    CHECK(clock.cost().resolution_ns >= 1);
    CHECK(clock.cost().resolution_ns < 1'000'000);
}

TEST_CASE("a clock that stands still costs nothing") {
    weft::ClockCost const cost = weft::measure_clock([]() noexcept { return std::int64_t(5); });
    CHECK(cost.resolution_ns == 0);
    CHECK(cost.cost_ns == 0);
}

TEST_CASE("clocks of several nodes are joined though they are seconds apart and drift") {
    for (int const ranks_per_node : {1, 2}) {
        CAPTURE(ranks_per_node);
        weft::Team const team = weft::make_team(MPI_COMM_WORLD, ranks_per_node);
        // All ranks of a node read the same clock; a drift of 1 % is a thousand times that of real clocks.
        fake = Fake{team.node * 3'000'000'000, 0.01 * team.node, 0};
        std::int64_t began = weft::platform::now_ns();
        PMPI_Bcast(&began, 1, MPI_INT64_T, 0, team.comm);
        fake.began_ns = began;
        weft::Clock clock(team, fake_now);
        CHECK(clock.shared() == (team.nodes == 1));

        clock.begin();
        std::int64_t const early = weft::platform::now_ns();
        // The drift measured before the cell is used during it.
        CHECK(distance(clock.global(fake.at(early)), rank_0_at(team, early)) < tolerance_ns(team, clock));
        weft::platform::sleep_ns(300'000'000); // drifts by 3 ms a node
        std::int64_t const middle = weft::platform::now_ns();
        CHECK(distance(clock.global(fake.at(middle)), rank_0_at(team, middle)) < 5 * tolerance_ns(team, clock));
        weft::platform::sleep_ns(300'000'000);
        clock.end();
        for (std::int64_t const when : {early, middle, weft::platform::now_ns()}) {
            CHECK(distance(clock.global(fake.at(when)), rank_0_at(team, when)) < tolerance_ns(team, clock));
        }
        CHECK(clock.residual_ns() < 20'000'000); // a check has an error of half its own round trip
        CHECK((clock.residual_ns() > 0) == (team.nodes > 1));
        // And back.
        std::int64_t const local = fake_now();
        CHECK(distance(clock.local(clock.global(local)), local) < 1000);
    }
}

namespace {

/// What a line makes of clocks that do not run straight.
struct Crooked {
    std::int64_t worst_ns = 0;    // largest error at any step, of all ranks
    std::int64_t residual_ns = 0; // what the clock says of itself
    std::int64_t tolerance_ns = 0;
    double passed_s = 0;

    bool told() const { return worst_ns <= residual_ns + residual_ns / 5 + tolerance_ns; }
    /// A line through all points errs by two thirds of what one through both ends does: bend x T^2 / 4 in the middle.
    bool nearer_than_a_chord(double bend) const {
        return double(worst_ns) < 0.9 * bend * passed_s * passed_s / 4 * 1e9 + double(tolerance_ns);
    }
};

constexpr int steps = 24;

/// Some of the reads of a clock.
struct Reads {
    std::int64_t first = 0;
    std::int64_t end = 0;
};

/// A cell of `steps` in shared time, with clocks that bend, or that are ahead by `bump_ns` in its middle third. `odd`:
/// reads of the opening measurement that are ahead by a millisecond, on all ranks but the first.
Crooked crooked_cell(weft::Team const &team, double bend, std::int64_t bump_ns, Reads odd = {}) {
    SharedTime const time(team);
    fake = Fake{team.node * 3'000'000'000, 0.001 * team.node, weft::max_over(team.comm, SharedTime::read())};
    fake.bend = team.node == 0 ? 0 : bend;
    weft::Clock clock(team, fake_now);
    fake.odd_from = fake.reads + (team.node > 0 ? odd.first : 0);
    fake.odd_to = fake.reads + (team.node > 0 ? odd.end : 0);
    clock.begin();
    struct Seen {
        std::int64_t true_ns, local_ns;
    };
    std::vector<Seen> seen;
    for (int step = 0; step < steps; ++step) {
        bool const turns = step == steps / 3 || step == 2 * steps / 3;
        fake.ahead_ns += turns && team.node > 0 ? (step == steps / 3 ? bump_ns : -bump_ns) : 0;
        time.pass(50'000'000);
        clock.check_if_due();
        std::int64_t const now = SharedTime::read();
        seen.push_back({now, fake.at(now)});
    }
    clock.end();
    std::int64_t worst = 0;
    for (Seen const &at : seen) {
        worst = std::max(worst, distance(clock.global(at.local_ns), rank_0_at(team, at.true_ns)));
    }
    constexpr std::int64_t round_trips_ns = 20'000; // of all ranks at once, in shared time
    return {weft::max_over(team.comm, worst), clock.residual_ns(), round_trips_ns,
            double(seen.back().true_ns - seen.front().true_ns) * 1e-9};
}

} // namespace

TEST_CASE("the residual holds what a drift that is no line costs in mid-cell") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 1);
    constexpr double bend = 0.04;
    Crooked const bent = crooked_cell(team, bend, 0);
    CHECK((bent.worst_ns > 1'000'000) == (team.size > 1)); // or the clocks ran too straight to show anything
    CHECK(bent.told());
    CHECK((team.size == 1 || bent.nearer_than_a_chord(bend)));
    Crooked const bumped = crooked_cell(team, 0, 50'000'000);
    CHECK((bumped.worst_ns > 1'000'000) == (team.size > 1));
    CHECK(bumped.told());
}

TEST_CASE("a clock that was read wrongly at the beginning is straightened by its checks") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 1);
    Reads const measured{0, reads_of_a_measurement(team.rank, team.size)};
    Crooked const found = crooked_cell(team, 0, 0, measured);
    // The line through both ends errs by a millisecond at the beginning; one of the same slope, moved, by half of that.
    CHECK(found.worst_ns < 100'000);
    CHECK(found.residual_ns >=
          (team.size > 1 ? 900'000 : 0)); // that of the beginning, with which the cell was measured
}

TEST_CASE("an error that a check found at the beginning is still in the residual at the end") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 1);
    std::int64_t const measured = reads_of_a_measurement(team.rank, team.size);
    Crooked const found = crooked_cell(team, 0, 0, {measured, measured + 40}); // only the check round is odd
    CHECK(found.worst_ns < 100'000);
    CHECK(found.residual_ns >= (team.size > 1 ? 900'000 : 0));
    CHECK(found.residual_ns < 1'100'000);
}

TEST_CASE("quick round trips are many, and slow ones only as many as an offset needs") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 1);
    struct Trips {
        std::int64_t read_ns;
        int offset, check;
    };
    // of reads that take 10 ms or more even five are over the time of 50 usual round trips, as of those of 1 ms twenty
    for (auto const &[read_ns, offset, check] : {Trips{100, 50, 20}, Trips{10'000'000, 5, 5}}) {
        CAPTURE(read_ns);
        SharedTime const time(team, read_ns);
        fake = Fake{team.rank * 1'000'000'000, 0, 0};
        weft::Clock clock(team, fake_now);
        std::int64_t const before = fake.reads;
        clock.begin();
        std::int64_t const checks = reads_of_checks(team.rank, team.size, check) + 1; // one of begin() itself
        std::int64_t const reads = reads_of_a_measurement(team.rank, team.size, offset) + checks;
        CHECK(fake.reads - before == (team.size == 1 ? 0 : reads));
        std::int64_t const now = SharedTime::read();
        std::int64_t const round_trips_ns = 4 * team.size * read_ns; // of all ranks at once
        CHECK(distance(clock.global(fake.at(now)), rank_0_at(team, now)) <= round_trips_ns);
        clock.end();
    }
}

TEST_CASE("an offset needs many quick round trips however long the first answer takes") {
    // All leaders ask rank 0 at once, which answers one after the other: of hundreds, the last waits for tens of ms.
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 1);
    SharedTime const time(team);
    fake = Fake{team.rank * 1'000'000'000, 0, 0};
    weft::Clock clock(team, fake_now);
    std::int64_t const before = fake.reads;
    std::int64_t const measured = reads_of_a_measurement(team.rank, team.size);
    std::int64_t const each = reads_of_checks(team.rank, team.size, 20) / 2;
    if (team.rank > 0) { // of the measurement and of both rounds: after the first question
        fake.reads_late = {before + 2, before + measured + 1, before + measured + each + 1};
    }
    clock.begin();
    CHECK(fake.reads - before == (team.size == 1 ? 0 : measured + 2 * each + 1));
}

TEST_CASE("ranks of one host whose clocks differ after all are joined one by one") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    fake = Fake{team.rank * 1'000'000'000, 0, 0}; // as in time namespaces
    weft::Clock clock(team, fake_now);
    CHECK(clock.shared() == (team.size == 1));
    clock.begin();
    std::int64_t const now = weft::platform::now_ns();
    CHECK(distance(clock.global(fake.at(now)), rank_0_at(team, now)) < tolerance_ns(team, clock));
}

TEST_CASE("the residual is as large as the error that the check rounds find") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    SharedTime const time(team);
    fake = Fake{team.rank * 1'000'000'000, 0, 0};
    weft::Clock clock(team, fake_now);
    bool const jumps = team.size > 1 && team.rank == team.size - 1;
    fake.reads_before_jump = jumps ? reads_of_a_measurement(team.rank, team.size) : -1;
    clock.begin(); // the last rank's clock is measured, jumps, and is checked
    std::int64_t const tolerance = tolerance_ns(team, clock);
    CHECK(clock.residual_ns() >= (team.size > 1 ? 1'000'000 - tolerance : 0));
    CHECK(clock.residual_ns() <= (team.size > 1 ? 1'000'000 + 100 * tolerance : 0));
    // METHOD 2: clocks with this error are not used for times below ten times the error.
    weft::Segment segment;
    segment.median_ns = 10 * clock.residual_ns();
    CHECK(weft::definition_of(segment, clock) == (team.size > 1 ? weft::Definition::local : weft::Definition::global));
    segment.median_ns += 1;
    CHECK(weft::definition_of(segment, clock) == weft::Definition::global);
    segment.of_one_rank = true;
    CHECK(weft::definition_of(segment, clock) == weft::Definition::local);
}

TEST_CASE("an offset is a straight line") {
    weft::Offset const offset{1000, 50, 0.001};
    CHECK(offset.at(1000) == 50);
    CHECK(offset.at(1'001'000) == 1050);
    CHECK(offset.at(-999'000) == -950);
}
