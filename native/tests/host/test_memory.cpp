// SPDX-License-Identifier: BSD-3-Clause
#include "host/memory.hpp"
#include "host/platform.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <limits>

using weft::Need;
using weft::Verdict;

TEST_CASE("a need adds up, and says of what") {
    Need const need{{{"unsorted", 4096}, {"sorted", 4096}, {"samples", 24}}};
    CHECK(need.total() == 8216);
    CHECK(need.formula() == "unsorted 4096 + sorted 4096 + samples 24 = 8216 bytes a rank");
}

TEST_CASE("a need past 2^63 is not a small one") {
    Need const need{{{"a", std::numeric_limits<std::int64_t>::max()}, {"b", 4096}}};
    CHECK(need.total() == std::numeric_limits<std::int64_t>::max());
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    CHECK_FALSE(weft::guard_memory(team, need, 0).fits);
}

TEST_CASE("a small need fits") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    Verdict const verdict = weft::guard_memory(team, {{{"samples", 4096}}}, 0);
    CHECK(verdict.fits);
    CHECK(verdict.reason.empty());
    CHECK(verdict.need_rank_bytes == 4096);
    CHECK(verdict.need_node_bytes == 4096 * team.size);
    CHECK(verdict.available_node_bytes > 4096 * team.size);
    CHECK(verdict.formula == "samples 4096 = 4096 bytes a rank");
}

TEST_CASE("the needs of all ranks of a node count together, and every rank hears the verdict") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 2);
    // Rank r needs r + 1 times 1000 bytes; a node holds two ranks, and may have 3500 bytes.
    Verdict const verdict = weft::guard_memory(team, {{{"data", 1000 * (team.rank + 1)}}}, 3500);
    // The worst node is the last whole one, or a single rank beyond it.
    int const last_pair = team.size / 2 * 2;
    int const pair = team.size > 1 ? 1000 * (last_pair - 1) + 1000 * last_pair : 0;
    int const single = team.size % 2 == 1 ? 1000 * team.size : 0;
    CHECK(verdict.fits == (std::max(pair, single) <= 3500));
    CHECK(verdict.need_rank_bytes == 1000 * team.size);
    CHECK(verdict.need_node_bytes == std::max(pair, single));
    if (!verdict.fits) {
        CHECK(verdict.available_node_bytes == 3500);
        CHECK(verdict.reason.find("limit of the plan") != std::string::npos);
    }
}

TEST_CASE("a limit of one process counts, too") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    rlimit old{};
    getrlimit(RLIMIT_AS, &old);
    rlimit tight = old;
    constexpr rlim_t most = rlim_t(64) << 30;
    if (team.rank == team.size - 1) {
        tight.rlim_cur = most;
        REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
        CHECK(weft::platform::memory().process_bytes < std::int64_t(most));
    }
    // More than the limit on the one rank; the other ranks have none.
    Need const need{{{"data", team.rank == team.size - 1 ? std::int64_t(most) : 4096}}};
    Verdict const verdict = weft::guard_memory(team, need, 0);
    setrlimit(RLIMIT_AS, &old);
    CHECK_FALSE(verdict.fits);
    bool const names_a_limit = verdict.reason.find("RLIMIT_AS") != std::string::npos ||
                               verdict.reason.find("MemAvailable") != std::string::npos ||
                               verdict.reason.find("cgroup") != std::string::npos;
    CHECK(names_a_limit);
}
