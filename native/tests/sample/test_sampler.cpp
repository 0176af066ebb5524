// SPDX-License-Identifier: BSD-3-Clause
#include "sampler_bench.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>
#include <vector>

using weft::EndedBy;
using weft::Rules;
using weft::Segment;
using weft::Start;

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

TEST_CASE("a first call says how many of its peers were met before") {
    reset_clock();
    Bench bench(rules);
    bench.sampler.cold("A", [] {});
    REQUIRE(bench.last().peers_met.has_value());
    CHECK(*bench.last().peers_met == bench.team.size - 1); // making the team opened connections to all
    weft::Peers::met().forget();
    bench.sampler.cold("B", [] {});
    CHECK(*bench.last().peers_met == 0);
    bench.sampler.cold("B again", [] {});
    CHECK(*bench.last().peers_met == bench.team.size - 1); // B may have opened connections to all
    weft::Peers::met().forget();
    weft::Comm const part = weft::Comm::split(MPI_COMM_SELF, 0, 0);
    bench.sampler.cold("C", [] {});
    CHECK(*bench.last().peers_met == 0); // a rank is not its own peer
    bench.sampler.warm("C", [] { fake_ns += 1000; });
    CHECK_FALSE(bench.last().peers_met.has_value());
    bool const in_half = 2 * bench.team.rank < bench.team.size;
    weft::Comm const half = weft::Comm::split(bench.team.comm, in_half ? 0 : 1, 0);
    weft::Peers::met().forget();
    if (in_half) {
        weft::Comm const again = weft::Comm::duplicate(half);
    }
    bench.sampler.cold("D", [] {});
    CHECK(*bench.last().peers_met == (bench.team.size + 1) / 2 - 1); // most over ranks
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

TEST_CASE("where the shortest time counts, precision ends nothing before its time") {
    reset_clock();
    Bench bench(rules);
    bench.sampler.warm("A", [] { fake_ns += 1000; }, {.batch = false, .least_ns = 40'000});
    CHECK(bench.last().ended_by == EndedBy::precision);
    CHECK(bench.last().count >= 40);
    CHECK(bench.last().count < 100);
    bench.sampler.warm("B", [] { fake_ns += 1000; }, {.batch = false, .least_ns = 1'000'000'000});
    CHECK(bench.last().ended_by == EndedBy::samples);
    CHECK(bench.last().count == 100);
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
    reset_clock(10); // resolution and cost 10 ns: a sample must last 400, and 20 times the difference of the clocks
    Bench bench(rules);
    CHECK(bench.clock.cost().cost_ns == 10);
    CHECK(bench.clock.cost().resolution_ns == 10);
    std::int64_t const least_ns = bench.sampler.least_sample_ns();
    CHECK(least_ns == 20 * (10 + 10 + bench.barrier.skew_ns()));
    std::int64_t calls = 0;
    bench.sampler.warm("A", [&] {
        ++calls;
        fake_ns += 50;
    });
    Segment const &segment = bench.last();
    CHECK(segment.batch >= least_ns / 50);
    CHECK(segment.batch <= 2 * least_ns / 50);
    CHECK(segment.rows[0].duration_ns == 50 * segment.batch + 10);
    CHECK(calls == segment.warmup + segment.batch * segment.count);
}

TEST_CASE("an operation just long enough for the clock is not batched") {
    reset_clock(10);
    Bench bench(rules);
    std::int64_t const least_ns = bench.sampler.least_sample_ns();
    bench.sampler.warm("A", [&] { fake_ns += least_ns; });
    CHECK(bench.last().batch == 1);
    bench.sampler.warm("B", [] { fake_ns += 50; }, {.batch = false});
    CHECK(bench.last().batch == 1);
}

TEST_CASE("an operation shorter than 20 times the skew of an empty one is timed in batches") {
    reset_clock(10);
    Bench bench(rules);
    fake_ns += bench.team.rank == bench.team.size - 1 ? 50'000 : 0; // the last rank always starts later by this
    std::int64_t const skew_ns = bench.barrier.skew_ns();
    CHECK(skew_ns >= (bench.team.size > 1 ? 45'000 : 0));
    CHECK(skew_ns <= 500'000); // a rank that waits for its core reads the clock, and each read advances it
    CHECK(bench.barrier.skew_ns() == skew_ns); // measured once
    CHECK(is_agreed(bench.team, skew_ns));
    bench.sampler.warm("A", [] { fake_ns += 10'000; });
    CHECK((bench.last().batch >= 90) == (bench.team.size > 1));
}

TEST_CASE("where ranks wait for cores, batches are no longer than a hundredth of the budget") {
    reset_clock(10);
    Rules brief = rules;
    brief.budget_ns = 10'000'000;
    Bench bench(brief);
    fake_ns += bench.team.rank == bench.team.size - 1 ? 1'000'000 : 0;
    CHECK(bench.sampler.least_sample_ns() <= 100'000);
    CHECK(bench.sampler.least_sample_ns() >= 400);
}

TEST_CASE("the batch is the first launch's, whatever luck a later one has") {
    reset_clock(10);
    Bench first(rules);
    first.sampler.warm("A", [] { fake_ns += 50; });
    std::int64_t const batch = first.last().batch;
    CHECK(batch > 1);
    Bench later(rules);
    later.sampler.batches() = weft::BatchBook::parse(first.sampler.batches().text("r h"), "r h");
    later.sampler.warm("A", [] { fake_ns += 70; }); // a slower launch, which would have chosen fewer calls
    CHECK(later.last().batch == batch);
    CHECK_FALSE(later.sampler.batches().is_new());
}

TEST_CASE("no rank begins a sample before all are ready for it") {
    Rules few = rules;
    few.budget_ns = 8'000'000'000;
    few.min_samples = few.max_samples = 4;
    few.warmup_most = 1;
    Bench bench(few, weft::platform::now_ns);
    std::vector<std::int64_t> ready; // when this rank was
    auto const slow_on_the_last = [&] {
        if (bench.team.rank == bench.team.size - 1) {
            weft::platform::sleep_ns(3'000'000);
        }
        ready.push_back(weft::platform::now_ns());
    };
    // For a call, the end of the one before; for a run of steps, the end of its preparation. The first is the warm-up.
    constexpr std::array<std::string_view, 1> ops{"steps"};
    bench.sampler.warm("call", slow_on_the_last, {.batch = false});
    bench.sampler.warm_steps(ops, slow_on_the_last, [](weft::Laps &) {});
    REQUIRE(ready.size() == 10);
    for (std::size_t sample = 0; sample < 8; ++sample) {
        CAPTURE(sample);
        bool const steps = sample >= 4;
        weft::Row const &row = bench.recorder.segments()[steps ? 1 : 0].rows[sample % 4];
        std::int64_t const all_ready = weft::max_over(bench.team.comm, ready[sample + (steps ? 2 : 0)]);
        CHECK(weft::min_over(bench.team.comm, row.start_ns) >= all_ready);
    }
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

TEST_CASE("parts of the ranks measure on their own") {
    reset_clock();
    weft::Team const world = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Comm const part = weft::Comm::split(world.comm, world.rank % 2, world.rank);
    weft::Team const team = weft::make_team(part, 0);
    weft::Clock const clock(team, fake_now);
    weft::Barrier barrier(team, clock, Start::barrier);
    weft::Recorder recorder;
    weft::Status status;
    weft::Sampler sampler(team, clock, barrier, rules, recorder, status, weft::Losses(fake_usage, INT64_MAX));
    std::int64_t calls = 0;
    bool const steady = world.rank % 2 == 0;
    sampler.warm("A", [&] {
        ++calls;
        fake_ns += steady ? 1000 : 1000 + 7 * calls * calls;
    });
    CHECK(recorder.segments().back().ended_by == (steady ? EndedBy::precision : EndedBy::samples));
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
