// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alltoallv in the patterns that break all-to-alls: no data, almost all data for one rank, sizes over many decades.
#include "oracle.hpp"

#include "state.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

struct Pattern {
    char const *name;
    oracle::Sizes sizes;
    bool symmetric; // as MPI_IN_PLACE requires: the same size to a rank as from it
};

std::vector<Pattern> patterns(int p) {
    return {
        {"nothing at all", [](int, int) { return 0; }, true},
        {"empty rows and columns", [](int s, int t) { return s % 3 == 0 || t % 2 == 1 ? 0 : 17 + s + 3 * t; }, false},
        {"hot receiver", [p](int s, int t) { return t == p / 2 ? 9000 + s : (s * 7 + t) % 5; }, false},
        {"hot sender", [p](int s, int t) { return s == p - 1 ? 9001 - t : (s * 3 + t) % 4; }, false},
        {"power law", [p](int s, int t) { return 40'000 / (1 + (s * p + t * 13) % 97); }, false},
        {"banded", [](int s, int t) { return std::abs(s - t) <= 1 ? 1000 + s + t : 0; }, true},
        {"self only", [](int s, int t) { return s == t ? 333 : 0; }, true},
        {"symmetric", [](int s, int t) { return (s + t) % 7 * 311; }, true},
    };
}

} // namespace

TEST_CASE("every algorithm delivers every pattern of MPI_Alltoallv") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    for (char const *fake : oracle::placements()) {
        for (char const *staging : {"64MiB", "8KiB"}) {
            oracle::Placed const placed(MPI_COMM_WORLD, fake, staging);
            for (Pattern const &pattern : patterns(ranks.count)) {
                for (std::string const &spec : oracle::specs()) {
                    if (std::string(staging) == "8KiB" && spec.starts_with("flat")) {
                        continue; // has no staging
                    }
                    CAPTURE(fake);
                    CAPTURE(staging);
                    CAPTURE(pattern.name);
                    CAPTURE(spec);
                    oracle::check_v(spec.c_str(), pattern.sizes, 3, true, false, placed.comm);
                    if (pattern.symmetric) {
                        oracle::check_v(spec.c_str(), pattern.sizes, 0, false, true, placed.comm);
                    }
                }
            }
        }
    }
}

TEST_CASE("calls of changing patterns follow each other on one communicator") {
    oracle::Placed const placed(MPI_COMM_WORLD, "sizes:2,1", "4096");
    auto const all = patterns(oracle::Ranks(MPI_COMM_WORLD).count);
    for (int i = 0; i < 200; ++i) {
        auto const spec = oracle::specs()[std::size_t(i * 7) % oracle::specs().size()];
        CAPTURE(i);
        CAPTURE(spec);
        oracle::check_v(spec.c_str(), all[std::size_t(i * 5) % all.size()].sizes, i % 3, i % 2 == 0, false,
                        placed.comm);
    }
}

TEST_CASE("ranks compare counts at each call until they repeat, then after 4 calls and at every 16th, and see a "
          "change of one") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    int hot = 10;
    auto const call = [&] {
        oracle::check_v(
            "sched.matrix", [&](int s, int t) { return s == 0 && t == 1 ? hot : 10; }, 0, false, false, placed.comm);
        return weft::alltoall::find_state(placed.comm)->uneven;
    };
    for (std::int64_t const due : {2, 2 + 4, 2 + 4}) {
        auto const plan = call();
        CHECK(plan.due == due);
    }
    while (call().calls < 6) {
    }
    CHECK(call().due == 6 + 16);
    hot = 100'000; // of one pair, which the order of the other ranks must know, too
    auto plan = call();
    CHECK(plan.due == 6 + 16); // not yet: the old order is right, too
    while (plan.calls < 6 + 16) {
        plan = call();
    }
    CHECK(plan.due == plan.calls + 1);
    CHECK(plan.row == weft::alltoall::find_state(placed.comm)->uneven.row);
    bool const is_end = ranks.me < 2;
    CHECK((std::any_of(plan.parts.begin(), plan.parts.end(), [](auto const &part) { return part.whole == 100'000; })) ==
          is_end);
}
