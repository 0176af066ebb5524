// SPDX-License-Identifier: BSD-3-Clause
// Peers of a launch before its first measured call, counted by the TCP connections of its processes: Open MPI runs over
// TCP here, and opens a connection with the first message to a peer. Each case has separate processes
// (tests/launch.cmake), without MPI communication before its launch.
#include "host/host_memory.hpp"
#include "launch/launch.hpp"
#include "launch/provenance.hpp"
#include "mpi/peers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// Established TCP connections of this process, from one read of tables that may change meanwhile. Open MPI 5 connects
/// by IPv6 where the host has it.
int connections_seen() {
    int count = 0;
    std::string sockets;
    for (auto const &each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        sockets += std::filesystem::read_symlink(each.path(), gone).string() + " ";
    }
    for (char const *const name : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
        std::ifstream table(name);
        std::string line;
        while (std::getline(table, line)) {
            std::istringstream words(line);
            std::vector<std::string> const columns{std::istream_iterator<std::string>(words), {}};
            constexpr std::size_t state = 3;
            constexpr std::size_t inode = 9;
            bool const established = columns.size() > inode && columns[state] == "01";
            count += established && sockets.find("socket:[" + columns[inode] + "]") != std::string::npos ? 1 : 0;
        }
    }
    return count;
}

/// Several reads, since one may miss a line.
int connections() {
    return std::max({connections_seen(), connections_seen(), connections_seen()});
}

/// The library's own initialisation opens and closes some, on a busy machine for longer than any fixed wait.
int connections_at_rest() {
    constexpr int reads_alike = 20;
    constexpr int reads_at_most = 400;
    int seen = connections();
    for (int read = 0, alike = 0; read < reads_at_most && alike < reads_alike; ++read) {
        weft::platform::sleep_ns(25'000'000);
        int const now = connections();
        alike = now == seen ? alike + 1 : 0;
        seen = now;
    }
    return seen;
}

bool counting = false;
std::optional<int> at_first_call;
std::filesystem::path counted; // a folder with a file of each rank that has counted

/// A late rank would see connections that others open to it in their first call, so all ranks count before that.
void count_together() {
    int rank = 0;
    int size = 1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    at_first_call = connections();
    std::ofstream(counted / std::to_string(rank)) << "counted\n";
    auto const all = [&] {
        for (int other = 0; other < size; ++other) {
            if (!std::filesystem::exists(counted / std::to_string(other))) {
                return false;
            }
        }
        return true;
    };
    while (!all()) {
        weft::platform::sleep_ns(1'000'000);
    }
}

} // namespace

/// Replaces the library's function: the first measured call of a launch of `exchange`.
int MPI_Alltoall(void const *from, int count, MPI_Datatype type, void *to, int counts, MPI_Datatype types,
                 MPI_Comm comm) {
    if (counting && !at_first_call) {
        count_together();
    }
    return PMPI_Alltoall(from, count, type, to, counts, types, comm);
}

namespace {

constexpr char const *cells = "cell c000\nkernel exchange\nn 576\nm 4\nend\n"
                              "cell c001\nkernel exchange\nn 576\nm 8\nend\n";

struct Ranks {
    Ranks() {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    int rank = 0;
    int size = 1;
};

struct Seen {
    std::vector<std::string> records; // of its two cells
    int opened;                       // connections of this rank between the begin of the launch and its first call
};

/// Runs a launch, with a door file if `door` gives its kind. Its ranks synchronise only through the file system.
Seen launched(std::string const &name, std::string const &door) {
    namespace files = std::filesystem;
    Ranks const all;
    files::path const folder = files::current_path() / ("first_calls." + name + "." + std::to_string(all.size));
    std::string const plan = (folder / "g000.plan").string();
    files::path const ready = folder / "ready";
    if (all.rank == 0) {
        files::remove_all(folder);
        files::create_directories(folder / "counted");
        std::ofstream(plan) << "weft-plan 2\nlaunch g000.l1\nfolder " << folder.string()
                            << "\nio posix\nmin_samples 2\nmax_samples 3\nwarmup_most 2\nbudget_ns 20000000\n"
                            << cells;
        if (!door.empty()) {
            std::ofstream(plan + ".door") << door << "\n";
        }
        std::ofstream(ready) << weft::platform::now_ns() << "\n";
    }
    std::int64_t const began = weft::platform::now_ns();
    auto const is_ready = [&] { // files of an earlier run of this test are older
        std::string const told = weft::read_text(ready.string());
        return all.rank == 0 || (!told.empty() && std::stoll(told) > began - 2'000'000'000);
    };
    while (!is_ready()) {
        weft::platform::sleep_ns(1'000'000);
    }
    int const before = connections_at_rest();
    counted = folder / "counted";
    counting = true;
    CHECK(weft::run_launch(plan) == 0);
    Seen seen{{}, at_first_call.value_or(before) - before};
    for (char const *const cell : {"c000", "c001"}) {
        seen.records.push_back(weft::read_text((folder / "cells" / (std::string(cell) + ".l1.json")).string()));
    }
    return seen;
}

/// `"peers_met":N` of the first call of an operation, as the record has it; -1 without one.
int peers_met(std::string const &record, std::string const &op) {
    std::string const key = "\"peers_met\":";
    auto const at = record.find(key, record.find("\"op\":\"" + op + "\",\"phase\":\"cold\""));
    return at == std::string::npos ? -1 : std::stoi(record.substr(at + key.size()));
}

void check_fresh(Seen const &seen) {
    Ranks const all;
    CHECK(peers_met(seen.records[0], "A") == 0);
    CHECK(peers_met(seen.records[0], "B") == all.size - 1);   // A met them
    CHECK(peers_met(seen.records[1], "A") == all.size - 1);   // a later cell is not fresh
    CHECK(seen.opened == (all.rank == 0 ? all.size - 1 : 1)); // the back channel
}

} // namespace

TEST_CASE("before the first call of a launch on one host nothing was sent over MPI") {
    check_fresh(launched("loopback", "loopback"));
}

TEST_CASE("before the first call of a launch over a network nothing was sent over MPI") {
    check_fresh(launched("network", "network"));
}

TEST_CASE("without a back channel the record says that all were met, and so do the connections") {
    Ranks const all;
    Seen const seen = launched("met", "");
    CHECK(peers_met(seen.records[0], "A") == all.size - 1);
    if (weft::library_version().find("Open MPI") != std::string::npos) {
        CHECK(seen.opened > 0);
    }
}
