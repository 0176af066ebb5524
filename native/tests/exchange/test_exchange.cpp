// SPDX-License-Identifier: BSD-3-Clause
#include "cell/kernels.hpp"
#include "scratch_file.hpp"
#include "time/barrier.hpp"
#include "time/clock.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace weft;

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

/// One cell of the kernel, measured by a real sampler with a handful of samples.
class Measured {
  public:
    explicit Measured(Values values)
        : team_(make_team(MPI_COMM_WORLD)), plan_(quick_plan()), values_{"c007", "exchange", "", std::move(values)},
          cell_(plan_, values_, team_), clock_(team_), barrier_(team_, clock_, Start::barrier),
          sampler_(team_, clock_, barrier_, plan_.rules, recorder_, status_) {
        cell_.use(sampler_);
    }

    Need need() { return exchange_need(cell_); }
    Validation const &run() {
        run_exchange(cell_);
        return cell_.validation();
    }
    /// "A cold, B cold, ..." as recorded.
    std::string segments() const {
        std::string all;
        for (auto const &segment : recorder_.segments())
            all += (all.empty() ? "" : ", ") + segment.op + " " + name(segment.phase);
        return all;
    }
    Recorder const &recorder() const { return recorder_; }
    Team const &team() const { return team_; }

  private:
    static Plan quick_plan() {
        Plan plan;
        plan.seed = 5;
        plan.rules = {0.05, 3, 5, 5, 20'000'000};
        return plan;
    }

    Team team_;
    Plan plan_;
    CellPlan values_;
    Cell cell_;
    Clock clock_;
    Barrier barrier_;
    Recorder recorder_;
    Status status_;
    Sampler sampler_;
};

/// Sets WEFT_PLANT in the environment during its lifetime.
class Plant {
  public:
    explicit Plant(char const *fault) { ::setenv("WEFT_PLANT", fault, 1); }
    ~Plant() { ::unsetenv("WEFT_PLANT"); }
};

std::string contention_n() {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return std::to_string(size * size * 3);
}

std::int64_t bytes_of(Need const &need, std::string const &part) {
    for (auto const &found : need.parts)
        if (found.name == part)
            return found.bytes;
    FAIL("no part " << part);
    return -1;
}

} // namespace

TEST_CASE("the contention set is exchanged cold in the order of the algorithm, then each call warm, and proven") {
    Measured cell({{"n", contention_n()}, {"m", "4"}, {"data", "contention"}, {"calls", "A B C"}});
    auto const &validation = cell.run();
    CHECK(cell.segments() == "A cold, B cold, C cold, A warm, B warm, C warm");
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
    for (auto const &segment : cell.recorder().segments())
        CHECK(segment.count >= 1);
}

TEST_CASE("only the calls that were asked for are measured") {
    Measured cell({{"n", contention_n()}, {"m", "1"}, {"calls", "C A"}});
    CHECK(cell.run().errors == 0);
    CHECK(cell.segments() == "A cold, C cold, A warm, C warm");
}

TEST_CASE("a sort of any data measures its steps cold and warm, and is proven") {
    for (auto const *data : {"uniform", "skewed", "reverse"})
        for (auto const *n : {"1", "5", "1000"}) {
            Measured cell({{"n", n}, {"m", "2"}, {"data", data}, {"calls", "A C"}});
            auto const &validation = cell.run();
            CHECK(cell.segments() ==
                  "sort cold, A cold, C cold, merge cold, total cold, sort warm, A warm, C warm, merge warm, "
                  "total warm");
            CHECK(validation.performed);
            CHECK(validation.errors == 0);
        }
}

TEST_CASE("the steps of a sort add up to no more than its total") {
    Measured cell({{"n", "2000"}, {"m", "3"}, {"data", "uniform"}});
    cell.run();
    auto const &segments = cell.recorder().segments();
    REQUIRE(segments.size() == 10);
    for (std::int64_t i = 0; i < segments[9].count; ++i) {
        std::int64_t sum = 0;
        for (std::size_t step = 5; step < 9; ++step)
            sum += segments[step].rows[static_cast<std::size_t>(i)].duration_ns;
        CHECK(sum <= segments[9].rows[static_cast<std::size_t>(i)].duration_ns);
    }
}

TEST_CASE("keys of a file are sorted and proven, all of them or the first n") {
    std::vector<double> keys;
    for (int i = 0; i < 333; ++i)
        keys.push_back((i * 7919) % 1000 / 8.0);
    ScratchFile const file(npy_bytes(keys));
    for (auto const *n : {"333", "100"}) {
        Measured cell({{"n", n}, {"m", "2"}, {"data", "file"}, {"file", file.path()}});
        CHECK(cell.run().errors == 0);
    }
}

TEST_CASE("a file that cannot be used is refused by all ranks together with the reason of one") {
    std::vector<double> keys(200, 1.0);
    keys.back() = std::numeric_limits<double>::quiet_NaN(); // in the share of the last rank only
    ScratchFile const nan(npy_bytes(keys));
    ScratchFile const text("key\n1\n2\n3\n4\n5\n6\n");
    std::vector<std::pair<std::string, std::string>> const cases{
        {nan.path(), "key 199 (counted from 0) is NaN"},
        {text.path(), "does not begin like a .npy file"},
        {"/nowhere/keys.npy", "No such file"},
    };
    for (auto const &[path, why] : cases) {
        Measured cell({{"n", "200"}, {"m", "1"}, {"data", "file"}, {"file", path}});
        CHECK_THROWS_WITH_AS(cell.run(), doctest::Contains(why.c_str()), Refusal);
    }
    // A part of a file without the NaN is good.
    Measured cell({{"n", "199"}, {"m", "1"}, {"data", "file"}, {"file", nan.path()}});
    CHECK(cell.run().errors == 0);
}

TEST_CASE("a planted corruption of one bit is found in every kind of data") {
    Plant const plant("corrupt:c007");
    std::vector<Values> const kinds{
        {{"n", contention_n()}, {"m", "1"}, {"calls", "A B C"}}, {{"n", contention_n()}, {"m", "7"}, {"calls", "C"}},
        {{"n", contention_n()}, {"m", "1"}, {"calls", "A B"}},   {{"n", contention_n()}, {"m", "1"}, {"calls", "A"}},
        {{"n", "1000"}, {"m", "1"}, {"data", "uniform"}},        {{"n", "1000"}, {"m", "6"}, {"data", "skewed"}},
        {{"n", "1000"}, {"m", "1"}, {"data", "reverse"}},        {{"n", "1"}, {"m", "1"}, {"data", "uniform"}},
    };
    for (auto const &values : kinds) {
        Measured cell(values);
        auto const &validation = cell.run();
        CHECK(validation.performed);
        CHECK(validation.errors >= 1);
        CHECK_FALSE(validation.detail.empty());
    }
}

TEST_CASE("a corruption planted in another cell leaves this one alone") {
    Plant const plant("corrupt:c008");
    Measured cell({{"n", contention_n()}, {"m", "2"}});
    CHECK(cell.run().errors == 0);
}

TEST_CASE("what a cell cannot be is refused with what to do") {
    auto const check_failure = [](Values values, char const *why) {
        Measured cell(std::move(values));
        CHECK_THROWS_WITH_AS((void)cell.need(), doctest::Contains(why), Failure);
    };
    check_failure({{"n", "0"}, {"m", "1"}}, "n = 0 is under 1");
    check_failure({{"n", "0"}, {"m", "1"}, {"data", "uniform"}}, "n = 0 is under 1");
    check_failure({{"n", "-4"}, {"m", "1"}}, "n = -4 is under 1");
    check_failure({{"n", contention_n()}, {"m", "0"}}, "m = 0 is under 1");
    check_failure({{"n", contention_n()}, {"m", "1"}, {"data", "random"}}, "data = \"random\"");
    check_failure({{"n", contention_n()}, {"m", "1"}, {"calls", "A D"}}, "calls has \"D\"");
    Measured odd({{"n", "1000003"}, {"m", "1"}});
    if (odd.team().size > 1)
        CHECK_THROWS_WITH_AS((void)odd.need(), doctest::Contains("the nearest n that can is"), Failure);
}

TEST_CASE("a cell that 64 bits or this MPI cannot hold is a row, not a crash") {
    Measured huge({{"n", "1000000000000000"}, {"m", "1000000000"}, {"data", "uniform"}});
    CHECK_THROWS_WITH_AS((void)huge.need(), doctest::Contains("does not fit 62 bits"), Refusal);
    Measured long_vector({{"n", contention_n()}, {"m", "3000000000"}});
    CHECK_THROWS_WITH_AS((void)long_vector.need(), doctest::Contains("smaller m"), Refusal);
    auto const size = static_cast<std::int64_t>(long_vector.team().size);
    Measured wide({{"n", std::to_string(size * size << 32)}, {"m", "1"}});
#if MPI_VERSION >= 4
    CHECK(bytes_of(wide.need(), "unsorted") == size << 35);
    CHECK(bytes_of(wide.need(), "counts and displacements") == 4 * 8 * size + 8 * (size + 1));
#else
    CHECK_THROWS_WITH_AS((void)wide.need(), doctest::Contains("no MPI_Alltoallv_c"), Refusal);
#endif
}

TEST_CASE("the need of the contention set counts what it allocates, beyond 2^32 bytes too") {
    Measured cell({{"n", contention_n()}, {"m", "1000000000"}, {"calls", "A B C"}});
    auto const size = static_cast<std::int64_t>(cell.team().size);
    auto const need = cell.need();
    CHECK(bytes_of(need, "unsorted") == 3 * size * 8'000'000'000);
    CHECK(bytes_of(need, "sorted") == 3 * size * 8'000'000'000);
    CHECK(bytes_of(need, "int buffers") == 2 * 3 * size * 4);
    CHECK(bytes_of(need, "counts and displacements") == 4 * 4 * size + 8 * (size + 1));
    Measured only_a({{"n", contention_n()}, {"m", "1000000000"}, {"calls", "A"}});
    CHECK(bytes_of(only_a.need(), "unsorted") == 0);
}
