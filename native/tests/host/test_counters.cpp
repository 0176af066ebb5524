// SPDX-License-Identifier: BSD-3-Clause
#include "host/counters.hpp"

#include "scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace {

void write(std::string const &path, std::string const &text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
}

void write_port(std::string const &root, std::string const &port, std::string const &state, int symbols, int words) {
    std::string const place = root + "/sys/class/infiniband/" + port;
    write(place + "/state", state + "\n");
    write(place + "/rate", "100 Gb/sec (4X EDR)\n");
    write(place + "/counters/symbol_error", std::to_string(symbols) + "\n");
    write(place + "/counters/port_xmit_data", std::to_string(words) + "\n");
    write(place + "/hw_counters/packet_seq_err", "7\n");
}

void write_network(std::string const &root, int sent, int dropped, int again) {
    write(root + "/proc/net/dev",
          "Inter-|   Receive                                                |  Transmit\n"
          " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
          "carrier compressed\n"
          "    lo: 99 1 5 5 0 0 0 0 99 1 5 5 0 0 0 0\n"
          "  eth0: 1000 10 1 " +
              std::to_string(dropped) + " 0 0 0 0 " + std::to_string(sent) + " 20 2 0 0 0 3 0\n");
    write(root + "/proc/net/snmp", "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 1 " +
                                       std::to_string(again) + "\n");
}

} // namespace

TEST_CASE("errors that grew between two readings are counted, of ports that are up and of interfaces but loopback") {
    weft::Team const team = weft::make_team(MPI_COMM_WORLD, 0);
    ScratchFolder const folder(team);
    std::string const root = folder.path() + "/" + std::to_string(team.rank);
    write_port(root, "mlx5_0/ports/1", "4: ACTIVE", 3, 100);
    write_port(root, "mlx5_1/ports/1", "1: DOWN", 3, 100);
    write_network(root, 5000, 4, 2);
    write(root + "/sys/class/net/eth0/speed", "25000\n");
    weft::Counters const before = weft::read_counters(root);
    CHECK(before.rates ==
          std::map<std::string, std::string>{{"eth0", "25000 Mb/s"}, {"mlx5_0/1", "100 Gb/sec (4X EDR)"}});
    CHECK(before.errors.at("eth0 tx_carrier") == 3);
    CHECK(before.errors.count("lo rx_errs") == 0);
    write_port(root, "mlx5_0/ports/1", "4: ACTIVE", 8, 350);
    write_network(root, 7500, 4, 12);
    weft::Counters const found = weft::counted_between(before, weft::read_counters(root));
    CHECK(found.errors ==
          std::map<std::string, std::int64_t>{{"mlx5_0/1 symbol_error", 5}, {"tcp retransmissions", 10}});
    CHECK(found.adapter_sent == std::map<std::string, std::int64_t>{{"mlx5_0/1", 1000}});
    CHECK(found.network_sent == 2500);
}

TEST_CASE("a host without adapters or /proc has no counters") {
    weft::Counters const found = weft::read_counters("/nowhere");
    CHECK(found.errors.empty());
    CHECK(found.rates.empty());
    CHECK(found.network_sent == 0);
}
