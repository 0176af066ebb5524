// SPDX-License-Identifier: BSD-3-Clause
#include "breakdown/plain_exchange.hpp"
#include "breakdown/round_times.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

/// Contiguous blocks of ints: rank a sends rank b the value 1000 a + b, `count(a, b)` times.
class IntBlocks {
  public:
    using Count = std::function<int(int from, int to)>;

    IntBlocks(weft::Team const &team, Count const &count, bool equal) : team_(team), count_(count) {
        blocks.type = MPI_INT;
        blocks.equal = equal;
        auto const lay_out = [&](std::vector<int> &data, std::vector<weft::Block> &into, auto const &of) {
            std::vector<int> counts;
            for (int other = 0; other < team.size; ++other) {
                counts.push_back(of(other));
            }
            data.assign(std::size_t(std::accumulate(counts.begin(), counts.end(), 0)), -1);
            int begin = 0;
            for (int const length : counts) {
                into.push_back({data.data() + begin, length});
                begin += length;
            }
        };
        lay_out(sent_, blocks.send, [&](int other) { return count(team.rank, other); });
        lay_out(received_, blocks.receive, [&](int other) { return count(other, team.rank); });
        for (int other = 0; other < team.size; ++other) {
            weft::Block const &block = blocks.send[std::size_t(other)];
            std::fill_n(static_cast<int *>(block.data), block.count, 1000 * team.rank + other);
        }
    }

    void forget() { std::fill(received_.begin(), received_.end(), -1); }
    /// Whether every element from rank `from` has arrived.
    [[nodiscard]] bool has(int from) const {
        weft::Block const &block = blocks.receive[std::size_t(from)];
        auto const *const first = static_cast<int const *>(block.data);
        return std::all_of(first, first + block.count, [&](int found) { return found == 1000 * from + team_.rank; });
    }
    [[nodiscard]] bool has_none(int from) const {
        weft::Block const &block = blocks.receive[std::size_t(from)];
        auto const *const first = static_cast<int const *>(block.data);
        return std::all_of(first, first + block.count, [](int found) { return found == -1; });
    }

    weft::PeerBlocks blocks;

  private:
    weft::Team const &team_;
    Count count_;
    std::vector<int> sent_;
    std::vector<int> received_;
};

int alike(int, int) {
    return 5;
}
int unequal(int from, int to) {
    return 1 + 3 * from + to;
}

weft::Clock &test_clock() {
    return MeasuringRanks::all().clock;
}

} // namespace

TEST_CASE("the rounds bring every block where the collective would, equal or not") {
    for (bool const equal : {true, false}) {
        weft::Team const &team = MeasuringRanks::all().team;
        IntBlocks data(team, equal ? alike : unequal, equal);
        weft::PlainExchange plain(team, data.blocks);
        std::vector<std::int64_t> ends(std::size_t(team.size));
        plain.shift(test_clock(), ends);
        for (int from = 0; from < team.size; ++from) {
            CHECK(data.has(from));
        }
        CHECK(std::is_sorted(ends.begin(), ends.end()));
        CHECK(ends.front() > 0);
        if (plain.has_pairs()) {
            data.forget();
            plain.pairwise();
            for (int from = 0; from < team.size; ++from) {
                CHECK(data.has(from));
            }
        }
    }
}

TEST_CASE("a rank that keeps its own block sends none to itself in place") {
    weft::Team const &team = MeasuringRanks::all().team;
    IntBlocks data(team, alike, true);
    data.blocks.keeps_own = false;
    weft::PlainExchange plain(team, data.blocks);
    plain.shift(test_clock(), {});
    CHECK(data.has_none(team.rank));
}

TEST_CASE("alone and within a node together move each block once: nothing is sent twice, nothing forgotten") {
    for (int const fake : {1, 2, 3}) {
        CAPTURE(fake);
        weft::Team const team = weft::make_team(MPI_COMM_WORLD, fake);
        IntBlocks data(team, unequal, false);
        weft::PlainExchange plain(team, data.blocks);
        CHECK(plain.leaves_node() == (team.nodes > 1));
        plain.within();
        for (int from = 0; from < team.size; ++from) {
            bool const here = team.node_of[std::size_t(from)] == team.node;
            CHECK((here ? data.has(from) : data.has_none(from)));
        }
        if (!plain.leaves_node()) {
            continue;
        }
        data.forget();
        plain.between(); // the first turn is rank 0's: others receive only from it, or nothing
        for (int from = 0; from < team.size; ++from) {
            bool const apart = team.node_of[std::size_t(from)] != team.node;
            bool const heard = apart && (team.rank == 0 || from == 0);
            CHECK((heard ? data.has(from) : data.has_none(from)));
        }
        for (int turn = 1; turn < team.size; ++turn) {
            plain.between();
        }
        for (int from = 0; from < team.size; ++from) {
            bool const apart = team.node_of[std::size_t(from)] != team.node;
            CHECK((apart ? data.has(from) : data.has_none(from)));
        }
    }
}

TEST_CASE("the time of a round is its median over the last runs, from the end of the one before") {
    weft::RoundTimes times(2);
    weft::Recorder recorder;
    for (int run = 0; run < 40; ++run) { // the first 25 are overwritten
        auto const ends = times.begin(1000);
        int const slow = run < 25 ? 500 : run == 39 ? 90 : 0;
        ends[0] = 1010 + slow;
        ends[1] = ends[0] + 7;
    }
    weft::Segment &segment = recorder.open("C:rounds", weft::Phase::warm, times.rows());
    times.record(segment);
    REQUIRE(segment.count == 2);
    CHECK(segment.rows[0].duration_ns == 10);
    CHECK(segment.rows[1].duration_ns == 7);
}

TEST_CASE("a breakdown is measured in turns with the call's own samples, of which there is one set") {
    MeasuredCell cell("exchange", {{"n", "576"}, {"m", "2"}, {"calls", "C"}, {"explain", "1"}});
    CHECK(cell.run().errors == 0);
    weft::Segment const *const whole = cell.segment("C", weft::Phase::warm);
    REQUIRE(whole != nullptr);
    CHECK(cell.segments().find(":whole") == std::string::npos);
    bool const alone = cell.team().size == 1;
    CHECK((cell.segment("C:shift", weft::Phase::warm) == nullptr) == alone);
    if (alone) {
        return;
    }
    CHECK(whole->count > 0);
    for (auto const *const step : {"C:within", "C:shift"}) {
        CAPTURE(step);
        weft::Segment const *const segment = cell.segment(step, weft::Phase::warm);
        REQUIRE(segment != nullptr);
        CHECK(segment->count == whole->count);
        CHECK(segment->batch == whole->batch);
        for (std::size_t i = 0; i < segment->rows.size(); ++i) { // interleaved: each step begins before the next does
            CHECK(segment->rows[i].start_ns < whole->rows[i].start_ns);
            CHECK((i == 0 || segment->rows[i].start_ns > whole->rows[i - 1].start_ns));
        }
    }
    bool const pairs = (cell.team().size & (cell.team().size - 1)) == 0;
    CHECK((cell.segment("C:pairwise", weft::Phase::warm) != nullptr) == pairs);
    weft::Segment const *const rounds = cell.segment("C:rounds", weft::Phase::warm);
    REQUIRE(rounds != nullptr);
    CHECK(rounds->count == cell.team().size);
}

TEST_CASE("only an all-to-all has a breakdown, and only where the plan asks for it") {
    auto const steps = [](MeasuredCell::Values values) {
        MeasuredCell cell("collective", std::move(values));
        CHECK(cell.run().errors == 0);
        return cell.segments().find(":shift") != std::string::npos;
    };
    bool const several = MeasuringRanks::all().team.size > 1;
    for (auto const *const form : {"plain", "inplace", "vector"}) {
        CHECK(steps({{"collective", "alltoall"}, {"bytes", "8 64"}, {"form", form}, {"explain", "1"}}) == several);
    }
    CHECK(steps({{"collective", "alltoallv"}, {"bytes", "64"}, {"pattern", "heavy"}, {"explain", "1"}}) == several);
    CHECK_FALSE(steps({{"collective", "alltoall"}, {"bytes", "8"}}));
    CHECK_FALSE(steps({{"collective", "allgather"}, {"bytes", "8"}, {"explain", "1"}}));
    CHECK_FALSE(steps({{"collective", "scatter"}, {"bytes", "8"}, {"explain", "1"}}));
}

TEST_CASE("what a breakdown allocates is asked for before") {
    auto const total = [](char const *explain) {
        MeasuredCell cell("exchange", {{"n", "576"}, {"m", "2"}, {"calls", "C"}, {"explain", explain}});
        std::int64_t bytes = 0;
        for (auto const &part : cell.need().parts) {
            bytes += part.bytes;
        }
        return bytes;
    };
    CHECK((total("1") > total("0")) == (MeasuringRanks::all().team.size > 1));
}
