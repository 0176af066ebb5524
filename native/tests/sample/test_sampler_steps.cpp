// SPDX-License-Identifier: BSD-3-Clause
#include "sampler_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string_view>

using weft::EndedBy;
using weft::Rules;
using weft::Segment;
using weft::Start;

namespace {

bool all_lost(Segment const &segment, std::int64_t faults) {
    bool all = segment.count > 0;
    for (weft::Row const &row : segment.rows) {
        all = all && weft::faults_of(row.lost) == faults;
    }
    return all;
}

} // namespace

TEST_CASE("what disturbs a sample while it is timed is counted for it, however samples are taken") {
    reset_clock();
    Bench bench(rules);
    auto const disturbed = [] { fake_ns += 100'000, fake_faults += 2; };
    bench.sampler.cold("A", disturbed);
    CHECK(all_lost(bench.last(), 2));
    bench.sampler.warm("A", disturbed);
    CHECK(all_lost(bench.last(), 2));
    bench.sampler.warm("B", [] { fake_ns += 100'000; });
    CHECK(all_lost(bench.last(), 0)); // the one before was disturbed, not this
    constexpr std::array<std::string_view, 1> ops{"total"};
    bench.sampler.warm_steps(
        ops, [] { fake_faults += 100; }, // before the start: not this sample's
        [](weft::Laps &) { fake_ns += 100'000, fake_faults += 5; });
    CHECK(all_lost(bench.last(), 5));
    std::array<weft::Turn, 2> const turns{weft::Turn{"C", [] { fake_ns += 100'000, fake_faults += 1; }},
                                          weft::Turn{"D", [] { fake_ns += 100'000, fake_faults += 7; }}};
    bench.sampler.warm_in_turns(turns);
    auto const &segments = bench.recorder.segments();
    CHECK(all_lost(segments[segments.size() - 2], 1));
    CHECK(all_lost(segments.back(), 7));
}

TEST_CASE("the budget ends operations in turns by the time of them all, not by that of the last") {
    reset_clock();
    weft::Rules few = rules;
    few.min_samples = 10;
    few.budget_ns = 20'000'000; // two of them: about as long as warming up and four samples take
    Bench bench(few);
    std::array<weft::Turn, 2> const turns{weft::Turn{"long", [] { fake_ns += 9'000'000; }},
                                          weft::Turn{"short", [] { fake_ns += 1'000'000; }}};
    bench.sampler.warm_in_turns(turns, {.batch = false});
    CHECK(bench.last().count <= 4);
}

TEST_CASE("operations in chunks take turns to and fro, each with its work around the samples of a chunk") {
    reset_clock();
    weft::Rules chunked = rules;
    chunked.warmup_most = 0;
    Bench bench(chunked);
    std::string order;
    auto const turn = [&](char name) {
        return weft::Turn{std::string(1, name), [&, name] { fake_ns += 100'000, order += name; }, 0,
                          [&] { order += '('; }, [&] { order += ')'; }};
    };
    std::array<weft::Turn, 2> const turns{turn('A'), turn('B')};
    bench.sampler.warm_in_turns(turns, {.batch = false, .exactly = 5, .chunk = 2});
    CHECK(order == "(AA)(BB)(BB)(AA)(A)(B)");
    CHECK(bench.recorder.segments().front().count == 5);
    CHECK(bench.last().count == 5);
}

TEST_CASE("short samples share a reading of the counters, and each may have lost what was lost between two") {
    reset_clock();
    Bench bench(rules);
    std::int64_t calls = 0;
    std::int64_t const before = fake_readings;
    bench.sampler.warm("A", [&] { fake_ns += 1000, fake_faults += ++calls % 100 == 0 ? 1 : 0; }, {.exactly = 200});
    CHECK(fake_readings - before < calls / 10);
    std::int64_t faulty = 0;
    for (weft::Row const &row : bench.last().rows) {
        faulty += weft::faults_of(row.lost);
    }
    CHECK(faulty >= 1);
    CHECK(faulty <= weft::Losses::apart_ns / 1000 * (1 + calls / 100));
}

TEST_CASE("a sample of several calls has what was lost during any of them") {
    reset_clock(1); // a read takes 1 ns: a sample should last 40
    Bench bench(rules);
    std::int64_t calls = 0;
    bench.sampler.warm("A", [&] { fake_ns += 10, fake_faults += calls++ % 2; });
    std::int64_t const batch = bench.last().batch;
    REQUIRE(batch > 2);
    for (weft::Row const &row : bench.last().rows) {
        CHECK(weft::faults_of(row.lost) >= batch / 2);
    }
}

TEST_CASE("samples that were disturbed are not precise, however alike their times are") {
    reset_clock();
    Bench bench(rules);
    bench.sampler.warm("calm", [] { fake_ns += 100'000; });
    CHECK(bench.last().ended_by == EndedBy::precision);
    bench.sampler.warm("disturbed", [] { fake_ns += 100'000, fake_faults += 1; });
    CHECK(bench.last().ended_by == EndedBy::samples);
    bool const first = bench.team.rank == 0;                               // one rank is enough, and 6 % of a sample
    bool const by_delay = bench.recorder.lost_by() == weft::LostBy::delay; // ranks that share cores wait for turns
    for (std::int64_t const lost_ns : {6000, 4000}) {
        bench.sampler.warm("delayed", [&] { fake_ns += 100'000, fake_delay_ns += first ? lost_ns : 0; });
        CHECK(bench.last().ended_by == (by_delay && lost_ns > 5000 ? EndedBy::samples : EndedBy::precision));
    }
    bench.sampler.warm("on rank 0", [&] { fake_ns += 100'000, fake_faults += first ? 1 : 0; });
    CHECK(bench.last().ended_by == EndedBy::samples);
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

TEST_CASE("the stop rule judges the time from the first start to the last end, not the longest duration of a rank") {
    for (bool const rank_0_is_late : {false, true}) {
        reset_clock();
        Bench bench(rules);
        constexpr std::array<std::string_view, 1> ops{"total"};
        std::int64_t runs = 0;
        // Every rank takes 1000 ns each time; but one starts up to 4000 ns after the others.
        auto const prepare = [&] {
            ++runs;
            bool const late = bench.team.rank == (rank_0_is_late ? 0 : bench.team.size - 1);
            fake_ns = runs * 1'000'000 + (late ? 400 * (runs * 5 % 11) : 0);
        };
        bench.sampler.warm_steps(ops, prepare, [](weft::Laps &) { fake_ns += 1000; });
        Segment const &segment = bench.last();
        CAPTURE(rank_0_is_late);
        bool const alone = bench.team.size == 1;
        CHECK(segment.count == (alone ? 10 : 100));
        CHECK(segment.ended_by == (alone ? EndedBy::precision : EndedBy::samples));
        if (bench.team.rank == 0) {
            CHECK(segment.judged == weft::Definition::global);
        }
    }
}

TEST_CASE("what one rank needs is known by its duration, whenever it starts") {
    reset_clock();
    Bench bench(rules);
    std::int64_t calls = 0;
    bool const last = bench.team.rank == bench.team.size - 1;
    auto const copy = [&] { fake_ns += 1000, calls += 1; };
    fake_ns += last ? 5000 : 0; // the ranks' clocks agreed when they were synchronised
    bench.sampler.warm("copy-8", copy, {.batch = false, .of_one_rank = true});
    CHECK(bench.last().count == 10);
    if (bench.team.rank == 0) {
        CHECK(bench.last().judged == weft::Definition::local);
    }
}

TEST_CASE("a precision that the closing check of the clocks takes away is not claimed") {
    reset_clock();
    Bench bench(rules);
    for (bool const locally : {true, false}) {
        Segment &segment = bench.recorder.open("A", weft::Phase::warm, 1);
        segment.ended_by = EndedBy::precision;
        segment.judged = weft::Definition::local; // as if the clocks had been worse: here they are shared
        segment.settled_locally = locally;
    }
    bench.recorder.open("pairs", weft::Phase::warm, 1).ended_by = EndedBy::precision; // not the sampler's
    bench.sampler.settle_definitions();
    CHECK(bench.recorder.segments()[0].ended_by == EndedBy::precision);
    CHECK(bench.recorder.segments()[1].ended_by == EndedBy::residual);
    CHECK(bench.recorder.segments()[2].ended_by == EndedBy::precision);
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
    patient.budget_ns = 3'000'000'000;
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
        CHECK(segment.late >= 4);                        // at the first decision all of them
        constexpr std::int64_t longest_ns = 100'000'000; // half of it, or more, on a machine with ten times its load
        CHECK(bench.barrier.window_ns() >= std::min(2 * before, longest_ns));
        CHECK(is_agreed(bench.team, bench.barrier.window_ns()));
    }
}
