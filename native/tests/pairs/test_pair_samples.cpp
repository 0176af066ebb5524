// SPDX-License-Identifier: BSD-3-Clause
// What holds for each sample of a pair: its disturbances, its batch, its largest message.
#include "measured_pairs.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

using namespace weft;

namespace {

std::int64_t usage_reads = 0;
int public_meetings = 0;

} // namespace

/// Replaces the C library's function: one major fault between any two reads, on every rank.
int getrusage(int, rusage *used) noexcept {
    *used = {};
    used->ru_majflt = ++usage_reads;
    return 0;
}

/// Replaces the library's function, as tools do that count the measured calls.
int MPI_Sendrecv(void const *from, int sent, MPI_Datatype type, int to, int tag, void *into, int most, MPI_Datatype as,
                 int of, int their_tag, MPI_Comm comm, MPI_Status *status) {
    ++public_meetings;
    return PMPI_Sendrecv(from, sent, type, to, tag, into, most, as, of, their_tag, comm, status);
}

TEST_CASE("each sample of a pair has the disturbances of both its ranks since the one before it, and no others") {
    MeasuredPairs measured(Values{{"bytes", "0"}});
    if (measured.team().size == 1) {
        return;
    }
    measured.run();
    for (Segment const &segment : measured.recorder().segments()) {
        bool const samples = segment.op.rfind("all.", 0) == 0 && segment.phase == Phase::warm;
        for (std::size_t i = 0; samples && i < segment.rows.size(); ++i) {
            CHECK(faults_of(segment.rows[i].lost) == (segment.rows[i].duration_ns > 0 ? 2 : 0)); // a bye has no samples
        }
    }
}

TEST_CASE("the round trips of a sample are those that the first launch chose, whatever luck a later one has") {
    MeasuredPairs first(Values{{"bytes", "0"}});
    if (first.team().size == 1) {
        return;
    }
    first.run();
    auto const chosen = first.cell().sampler().batches().of("all.r0@0");
    REQUIRE(chosen.has_value());
    CHECK(first.find("all.r0@0", Phase::warm)->batch == 2 * *chosen);
    MeasuredPairs later(Values{{"bytes", "0"}});
    std::int64_t const other = *chosen + 1;
    later.cell().sampler().batches().decide("all.r0@0", other);
    later.run();
    CHECK(later.find("all.r0@0", Phase::warm)->batch == 2 * other);
}

TEST_CASE("a message of 2 GiB is counted where the library can, and refused with the reason where it cannot") {
    if (make_team(MPI_COMM_WORLD).size < 2) {
        return;
    }
    MeasuredPairs measured(Values{{"bytes", "8 2147483648"}});
    if (MPI_VERSION >= 4) {
        CHECK(measured.need().parts[0].bytes == 2 * 2147483648);
    } else {
        CHECK_THROWS_WITH_AS(measured.need(), doctest::Contains("a message of 2147483648 bytes is more than"), Refusal);
    }
}

TEST_CASE("MPI_THREAD_MULTIPLE is required where a plan says so, and refused by name where the library has less") {
    int level = MPI_THREAD_SINGLE;
    REQUIRE(PMPI_Query_thread(&level) == MPI_SUCCESS);
    MeasuredPairs measured(Values{{"bytes", "8"}, {"threads", "multiple"}});
    if (level == MPI_THREAD_MULTIPLE) {
        CHECK(measured.need().total() > 0);
    } else {
        CHECK_THROWS_WITH_AS(measured.need(), doctest::Contains("MPI_THREAD_MULTIPLE was asked for"), Refusal);
    }
}

TEST_CASE("the need counts samples of every round, and a summary needs less than many samples") {
    if (make_team(MPI_COMM_WORLD).size < 2) {
        return;
    }
    MeasuredPairs measured;
    std::int64_t kept = 0;
    auto const samples = [](Need const &need) { return need.parts[1].bytes; };
    std::int64_t const need = samples(measured.need());
    measured.run();
    for (Segment const &segment : measured.recorder().segments()) {
        kept += std::int64_t(segment.rows.size() * sizeof(Row));
    }
    CHECK(need >= 2 * kept);
    MeasuredPairs both(Values{{"contention", "1"}});
    CHECK(samples(both.need()) == 2 * need);
}

TEST_CASE("a large message both ways is right in parts of any length, and counted as one") {
    for (char const *const part : {"1", "1000", "2500", "4999", "5000", "61440"}) {
        CAPTURE(part);
        bool const small = std::string(part) == "1";
        MeasuredPairs measured(
            {{"check", "1"}, {"both_ways", "64"}, {"bytes", small ? "8 70" : "8 5000"}, {"part", part}});
        auto const &validation = measured.run();
        CHECK(validation.performed);
        CHECK(validation.errors == 0);
        if (make_team(MPI_COMM_WORLD).size > 1) {
            Segment const *const warm = measured.find(small ? "all.r0@70" : "all.r0@5000", Phase::warm);
            REQUIRE(warm != nullptr);
            CHECK(warm->count > 0);
        }
    }
}

TEST_CASE("a check's large message moves both ways at once, and its time is that of one message") {
    Team const team = make_team(MPI_COMM_WORLD);
    if (team.size < 2) {
        return;
    }
    setenv("WEFT_PLANT", "slow", 1); // the last rank begins to send 10 ms late
    MeasuredPairs measured({{"check", "1"}, {"both_ways", "4096"}, {"bytes", "8 5000"}});
    auto const &validation = measured.run();
    unsetenv("WEFT_PLANT");
    CHECK(validation.errors == 0);
    CHECK(public_meetings == 0); // Weft's own traffic has no public name
    constexpr std::int64_t late_ns = 10'000'000;
    int const partner = measured.partner(0);
    for (bool const both : {false, true}) {
        CAPTURE(both);
        std::string const op = both ? "all.r0@5000" : "all.r0@8";
        Segment const *const cold = measured.find(op, Phase::cold);
        Segment const *const warm = measured.find(op, Phase::warm);
        Segment const *const forward = measured.find("forward." + op, Phase::warm);
        REQUIRE((cold != nullptr && warm != nullptr && forward != nullptr));
        CHECK(cold->batch == (both ? 1 : 2)); // messages of a sample, one after the other
        CHECK((both || warm->batch % 2 == 0));
        if (partner == team.rank) {
            continue;
        }
        std::int64_t least = INT64_MAX; // of a sample
        for (Row const &row : std::span(warm->rows).first(std::size_t(warm->count))) {
            least = std::min(least, row.duration_ns);
        }
        bool const with_last = partner == team.size - 1 || team.rank == team.size - 1;
        if (both && with_last) { // a sample is over when both messages have arrived
            CHECK(least / warm->batch >= late_ns);
            CHECK((team.rank < team.size - 1 || forward->rows[0].lost >= late_ns));
        }
    }
}

TEST_CASE("a window has as many messages as its bytes allow, and one at least") {
    PingWindow const window{64, true, 1 << 20};
    CHECK(window.messages(0) == 64);
    CHECK(window.messages(16384) == 64);
    CHECK(window.messages(16385) == 63);
    CHECK(window.messages(1 << 24) == 1);
    CHECK(window.room(1 << 18) == 1 << 20);
    if (make_team(MPI_COMM_WORLD).size > 1) {
        MeasuredPairs pairs({{"bytes", "100000 1000000"}, {"window", "64"}, {"window_bytes", "4000000"}});
        CHECK(pairs.need().parts.front().bytes == 2 * 40 * 100'032);
    }
}
