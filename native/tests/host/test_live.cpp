// SPDX-License-Identifier: BSD-3-Clause
#include "common/crc32.hpp"
#include "host/live.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

std::string new_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-live-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    return name;
}

weft::Glimpse const glimpse{"c003", "alltoall@8", 4, 1000, 900, 1100};

} // namespace

TEST_CASE("a slot has the operation, its numbers, the last samples and their checksum") {
    std::vector<std::int64_t> const samples{10, 20, 30};
    std::string const text = weft::live_text(glimpse, samples);
    std::string const body = "weft-live/1 c003 alltoall@8 4 3 1000 900 1100 10 20 30";
    REQUIRE(text.size() == body.size() + 9);
    CHECK(text.starts_with(body + " "));
    CHECK(std::stoul(text.substr(body.size() + 1), nullptr, 16) == weft::crc32(std::as_bytes(std::span(body))));
}

TEST_CASE("a slot is never longer than its size, whatever the samples and names") {
    std::vector<std::int64_t> samples(100'000);
    std::iota(samples.begin(), samples.end(), 1'000'000'000'000'000'000);
    std::string const text = weft::live_text(glimpse, samples);
    CHECK(text.size() <= weft::Live::slot_bytes);
    CHECK(text.find(" 100000 1000 ") != std::string::npos);
    CHECK(text.find(" 1000000000000099999 ") != std::string::npos); // the last one, not the first
    CHECK(weft::live_text({"c003", std::string(600, 'x')}, samples).empty());
}

TEST_CASE("the slot is written as a whole, and not too often") {
    std::string const folder = new_folder();
    weft::Live live(folder + "/a.live");
    CHECK(live.due());
    auto const written = std::chrono::steady_clock::now();
    live.write(glimpse, std::vector<std::int64_t>{5});
    bool const due = live.due();
    if (std::chrono::steady_clock::now() - written < std::chrono::milliseconds(150)) { // else a busy machine
        CHECK_FALSE(due);
    }
    CHECK(std::filesystem::file_size(folder + "/a.live") == weft::Live::slot_bytes);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a lost folder, or a link to a file of others, disturbs nothing") {
    std::string const folder = new_folder();
    std::filesystem::create_symlink(folder + "/theirs", folder + "/a.live");
    std::ofstream(folder + "/theirs") << "theirs";
    weft::Live(folder + "/a.live").write(glimpse, std::vector<std::int64_t>{5});
    CHECK(std::filesystem::file_size(folder + "/theirs") == 6);
    weft::Live(folder + "/gone/a.live").write(glimpse, std::vector<std::int64_t>{5});
    CHECK_FALSE(weft::Live().due());
    std::filesystem::remove_all(folder);
}

TEST_CASE("a write costs far less than the pause between two") {
    std::string const folder = new_folder();
    weft::Live live(folder + "/a.live");
    std::vector<std::int64_t> samples(10'000, 123'456'789);
    constexpr int writes = 1000;
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < writes; ++i) {
        live.write(glimpse, samples);
    }
    std::chrono::duration<double> const lasted = std::chrono::steady_clock::now() - began;
    MESSAGE("a write takes " << lasted.count() / writes * 1e6 << " us");
    CHECK(lasted.count() / writes < 0.02); // at most five a second, so under a tenth of the time even then
    std::filesystem::remove_all(folder);
}
