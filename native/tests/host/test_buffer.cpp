// SPDX-License-Identifier: BSD-3-Clause
#include "host/buffer.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <limits>

TEST_CASE("a buffer is page aligned, and every word of it was written") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Buffer const buffer = weft::Buffer::make(team, 100'000, "test");
    CHECK(buffer.real());
    CHECK(buffer.bytes() == 100'000);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096 == 0);
    bool zeros = false;
    for (std::uint64_t const word : buffer.as<std::uint64_t>()) {
        zeros = zeros || word == 0;
    }
    CHECK_FALSE(zeros); // a page of zeros may be the kernel's single zero page
    CHECK(buffer.as<double>().size() == 12'500);
}

TEST_CASE("buffers of different ranks hold different words") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Buffer const buffer = weft::Buffer::make(team, 8, "test");
    std::vector<std::uint64_t> all(std::size_t(team.size));
    PMPI_Allgather(buffer.data(), 8, MPI_BYTE, all.data(), 8, MPI_BYTE, team.comm);
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("a buffer of nothing has an address") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    weft::Buffer const buffer = weft::Buffer::make(team, 0, "test");
    CHECK(buffer.data() != nullptr);
    CHECK(buffer.bytes() == 0);
}

TEST_CASE("when one rank gets no memory, all ranks hear it") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD);
    rlimit old{};
    getrlimit(RLIMIT_AS, &old);
    constexpr std::size_t bytes = std::size_t(1) << 36;
    std::size_t const mine = team.rank == team.size - 1 ? bytes : 4096;
    if (team.rank == team.size - 1) {
        rlimit tight = old;
        tight.rlim_cur = rlim_t(bytes) / 2;
        setrlimit(RLIMIT_AS, &tight);
    }
    std::string status;
    std::string reason;
    try {
        weft::Buffer::make(team, mine, "large");
    } catch (weft::Refusal const &refusal) {
        status = refusal.status();
        reason = refusal.what();
    }
    setrlimit(RLIMIT_AS, &old);
    CHECK(status == "memory");
    CHECK(reason.find("68719476736 bytes for the buffer `large`") != std::string::npos);
}

TEST_CASE("a size past the address space is refused") {
    CHECK_FALSE(weft::platform::Pages::map(std::numeric_limits<std::size_t>::max()).has_value());
}
