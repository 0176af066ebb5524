// SPDX-License-Identifier: BSD-3-Clause
#include "sampler.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

using weft::EndedBy;
using weft::Rules;
using weft::Segment;
using weft::Start;

namespace {

// A clock that the measured call moves, so that every duration is known.
std::int64_t fake_ns = 0;
std::int64_t fake_read_ns = 0; // what a read of it costs

std::int64_t fake_now() noexcept {
    return fake_ns += fake_read_ns;
}

/// A harness around one sampler.
struct Bench {
    explicit Bench(Rules const &rules, weft::Now now = fake_now, Start start = Start::barrier)
        : clock(team, now), barrier(team, clock, start), sampler(team, clock, barrier, rules, recorder, status) {}

    Segment const &last() const { return recorder.segments().back(); }

    weft::Team team = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Clock clock;
    weft::Barrier barrier;
    weft::Recorder recorder;
    weft::Status status;
    weft::Sampler sampler;
};

Rules const rules{
    .precision = 0.05, .min_samples = 10, .max_samples = 100, .warmup_most = 50, .budget_ns = 1'000'000'000'000};

/// The same on every rank?
bool is_agreed(weft::Team const &team, std::int64_t value) {
    return weft::min_over(team.comm, value) == weft::max_over(team.comm, value);
}

void reset_clock(std::int64_t read_ns = 0) {
    fake_ns = 0;
    fake_read_ns = read_ns;
}

} // namespace

TEST_CASE("the first call is one sample") {
    reset_clock();
    Bench bench(rules);
    int calls = 0;
    bench.sampler.cold("A", [&] {
        ++calls;
        fake_ns += 1000;
    });
    CHECK(calls == 1);
    CHECK(bench.last().count == 1);
    CHECK(bench.last().rows[0].duration_ns == 1000);
    CHECK(bench.last().batch == 1);
    CHECK(bench.last().warmup == 0);
    CHECK(bench.last().ended_by == EndedBy::single);
    CHECK(bench.last().phase == weft::Phase::cold);
}

TEST_CASE("equal durations end at the least number of samples, by precision") {
    reset_clock();
    Bench bench(rules);
    int calls = 0;
    bench.sampler.warm("A", [&] {
        ++calls;
        fake_ns += 1000;
    });
    CHECK(bench.last().count == 10);
    CHECK(bench.last().ended_by == EndedBy::precision);
    CHECK(bench.last().warmup == 26); // one to size the batches, and five of five
    CHECK(calls == 36);
    for (weft::Row const &row : bench.last().rows) {
        CHECK(row.duration_ns == 1000);
    }
    if (bench.team.rank == 0) {
        CHECK(bench.last().median_ns == 1000);
    }
}

TEST_CASE("durations that never agree end at the most samples, after the most warm-up") {
    reset_clock();
    Bench bench(rules);
    std::int64_t calls = 0;
    bench.sampler.warm("A", [&] {
        ++calls;
        fake_ns += 1000 + 7 * calls * calls;
    });
    CHECK(bench.last().count == 100);
    CHECK(bench.last().ended_by == EndedBy::samples);
    CHECK(bench.last().warmup == 50);
}

TEST_CASE("the budget ends a slow operation, and its warm-up eats no more than its share") {
    reset_clock();
    Rules slow = rules;
    slow.budget_ns = 100'000;
    slow.precision = 1e-9;
    Bench bench(slow);
    std::int64_t calls = 0;
    bench.sampler.warm("A", [&] { fake_ns += 2000 + 100 * (calls++ % 7); });
    CHECK(bench.last().ended_by == EndedBy::budget);
    CHECK(bench.last().warmup * 2300 <= 100'000 / 5 + 2 * 2600);
    CHECK(bench.last().count >= 30);
    CHECK(bench.last().count <= 50);
    CHECK(fake_ns <= 110'000);
}

TEST_CASE("an operation longer than the whole budget is still measured once") {
    reset_clock();
    Rules tiny = rules;
    tiny.budget_ns = 10;
    Bench bench(tiny);
    bench.sampler.warm("A", [] { fake_ns += 1'000'000; });
    CHECK(bench.last().count == 1);
    CHECK(bench.last().warmup == 1);
    CHECK(bench.last().ended_by == EndedBy::budget);
}

TEST_CASE("no warm-up is wanted, none is made") {
    reset_clock();
    Rules bare = rules;
    bare.warmup_most = 0;
    Bench bench(bare);
    int calls = 0;
    bench.sampler.warm("A",
                       [&] {
                           ++calls;
                           fake_ns += 1000;
                       },
                       {.batch = false});
    CHECK(bench.last().warmup == 0);
    CHECK(calls == bench.last().count);
}

TEST_CASE("the slowest rank decides, and all ranks end together") {
    reset_clock();
    Bench bench(rules);
    std::int64_t calls = 0;
    bool const last = bench.team.rank == bench.team.size - 1;
    bench.sampler.warm("A", [&] { fake_ns += last ? 1000 + 997 * (calls++ % 11) : 100; });
    CHECK(bench.last().count == 100);
    CHECK(bench.last().ended_by == EndedBy::samples);
    CHECK(is_agreed(bench.team, bench.last().count));
    if (bench.team.rank == 0) {
        CHECK(bench.last().median_ns > 1000);
    }
}

TEST_CASE("an operation too short for the clock is timed in batches") {
    reset_clock(10); // resolution and cost 10 ns: a sample must last 400
    Bench bench(rules);
    CHECK(bench.clock.cost().cost_ns == 10);
    CHECK(bench.clock.cost().resolution_ns == 10);
    std::int64_t calls = 0;
    bench.sampler.warm("A", [&] {
        ++calls;
        fake_ns += 50;
    });
    Segment const &segment = bench.last();
    CHECK(segment.batch >= 8);
    CHECK(segment.batch <= 12);
    CHECK(segment.rows[0].duration_ns == 50 * segment.batch + 10);
    CHECK(calls == segment.warmup + segment.batch * segment.count);
}

TEST_CASE("an operation just long enough for the clock is not batched") {
    reset_clock(10);
    Bench bench(rules);
    bench.sampler.warm("A", [] { fake_ns += 400; });
    CHECK(bench.last().batch == 1);
    bench.sampler.warm("B", [] { fake_ns += 50; }, {.batch = false});
    CHECK(bench.last().batch == 1);
}

TEST_CASE("half a ping-pong is one operation") {
    reset_clock();
    Bench bench(rules);
    bench.sampler.cold("latency", [] { fake_ns += 1000; }, {.operations = 2});
    CHECK(bench.last().batch == 2);
    bench.sampler.warm("latency", [] { fake_ns += 1000; }, {.operations = 2});
    CHECK(bench.last().batch == 2);
    CHECK(bench.last().warmup == 52);
    CHECK(bench.last().rows[0].duration_ns == 1000);
}

TEST_CASE("steps follow one another, and their total is the last") {
    reset_clock();
    Bench bench(rules);
    constexpr std::array<std::string_view, 3> ops{"sort", "C", "total"};
    int prepared = 0;
    int runs = 0;
    auto const prepare = [&] {
        ++prepared;
        fake_ns += 1'000'000; // is not timed
    };
    auto const body = [&](weft::Laps &laps) {
        ++runs;
        fake_ns += 300;
        laps.mark(0);
        fake_ns += 500;
        laps.mark(1);
        fake_ns += 7;
    };
    bench.sampler.cold_steps(ops, prepare, body);
    REQUIRE(bench.recorder.segments().size() == 3);
    bench.sampler.warm_steps(ops, prepare, body);
    REQUIRE(bench.recorder.segments().size() == 6);
    CHECK(prepared == runs);
    for (std::size_t phase = 0; phase < 2; ++phase) {
        Segment const &sort = bench.recorder.segments()[3 * phase];
        Segment const &exchange = bench.recorder.segments()[3 * phase + 1];
        Segment const &total = bench.recorder.segments()[3 * phase + 2];
        CHECK(sort.op == "sort");
        CHECK(sort.count == total.count);
        CHECK(sort.count == (phase == 0 ? 1 : 10));
        CHECK(sort.rows[0].duration_ns == 300);
        CHECK(exchange.rows[0].duration_ns == 500);
        CHECK(exchange.rows[0].start_ns == sort.rows[0].start_ns + 300);
        CHECK(total.rows[0].duration_ns == 807);
        CHECK(total.rows[0].start_ns == sort.rows[0].start_ns);
    }
}

TEST_CASE("a step too short for the clock is told") {
    reset_clock(10);
    Bench bench(rules);
    constexpr std::array<std::string_view, 2> ops{"A", "total"};
    bench.sampler.warm_steps(
        ops, [] {},
        [](weft::Laps &laps) {
            fake_ns += 100;
            laps.mark(0);
            fake_ns += 100'000;
        });
    if (bench.team.rank == 0) {
        REQUIRE(bench.sampler.warnings().size() == 1);
        CHECK(bench.sampler.warnings()[0].find("step A lasts 110 ns") != std::string::npos);
    }
}

TEST_CASE("samples that began late are dropped on all ranks and counted, and the window grows") {
    Rules patient = rules;
    patient.budget_ns = 8'000'000'000;
    patient.min_samples = 4;
    patient.max_samples = 8;
    patient.warmup_most = 1;
    Bench bench(patient, weft::platform::now_ns, Start::window);
    std::int64_t const before = bench.barrier.window_ns();
    constexpr std::array<std::string_view, 1> ops{"total"};
    // One rank comes later than the first window lasts, every time.
    auto const prepare = [&] {
        if (bench.team.rank == bench.team.size - 1) {
            weft::platform::sleep_ns(3 * before);
        }
    };
    bench.sampler.warm_steps(ops, prepare, [](weft::Laps &) { weft::platform::sleep_ns(10'000); });
    Segment const &segment = bench.last();
    CHECK(is_agreed(bench.team, segment.count));
    CHECK(is_agreed(bench.team, segment.late));
    CHECK(segment.rows.size() == std::size_t(segment.count));
    if (bench.team.size > 1) {
        CHECK(segment.late >= 4); // the first look at all of them
        CHECK(bench.barrier.window_ns() >= 2 * before);
        CHECK(is_agreed(bench.team, bench.barrier.window_ns()));
    }
}

TEST_CASE("parts of the ranks measure on their own") {
    reset_clock();
    weft::Team const world = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Comm const part = weft::Comm::split(world.comm, world.rank % 2, world.rank);
    weft::Team const team = weft::make_team(part, 0);
    weft::Clock const clock(team, fake_now);
    weft::Barrier barrier(team, clock, Start::barrier);
    weft::Recorder recorder;
    weft::Status status;
    weft::Sampler sampler(team, clock, barrier, rules, recorder, status);
    std::int64_t calls = 0;
    bool const steady = world.rank % 2 == 0;
    sampler.warm("A", [&] {
        ++calls;
        fake_ns += steady ? 1000 : 1000 + 7 * calls * calls;
    });
    CHECK(recorder.segments().back().ended_by == (steady ? EndedBy::precision : EndedBy::samples));
}

TEST_CASE("a preempted sample is tainted, and a quiet thread counts nothing") {
    weft::platform::Usage const before = weft::platform::usage();
    CHECK(before.involuntary_switches >= 0);
    CHECK(weft::platform::usage().involuntary_switches >= before.involuntary_switches);
}

TEST_CASE("the room for samples is what the need says at least") {
    weft::Recorder recorder;
    recorder.open("A", weft::Phase::cold, 16);
    recorder.open("A", weft::Phase::warm, rules.max_samples);
    std::int64_t bytes = 0;
    for (Segment const &segment : recorder.segments()) {
        bytes += std::int64_t(segment.rows.capacity() * sizeof(weft::Row));
    }
    CHECK(weft::Recorder::bytes(1, rules) >= bytes);
}
