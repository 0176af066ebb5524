// SPDX-License-Identifier: BSD-3-Clause
#include "sampler_bench.hpp"
#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

TEST_CASE("whoever watches sees the samples so far, warm-up left out") {
    reset_clock();
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    ScratchFolder const folder(team);
    weft::Clock const clock(team, fake_now);
    weft::Barrier barrier(team, clock, weft::Start::barrier);
    weft::Recorder recorder;
    weft::Status status(team, folder.path() + "/a.status", folder.path() + "/a.live");
    status.cell("c001");
    weft::Sampler sampler(team, clock, barrier, rules, recorder, status);
    sampler.cold("A", [] { fake_ns += 7000; });
    sampler.warm("A", [] { fake_ns += 200'000'000; });
    std::ifstream file(folder.path() + "/a.live");
    std::string seen;
    std::getline(file, seen, '\0');
    // how many of the slow samples are told depends on the host's own time
    if (team.rank == 0) {
        CHECK(seen.starts_with("weft-live/1 c001 A 1 "));
        CHECK(seen.find(" 200000000 ") != std::string::npos);
        CHECK(seen.find("7000 ") == std::string::npos);
    }
}
