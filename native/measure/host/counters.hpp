// SPDX-License-Identifier: BSD-3-Clause
// What this host's adapters have counted since they came up, and at which rate they run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace weft {

struct Counters {
    std::map<std::string, std::int64_t> errors;       ///< by adapter and name: `mlx5_0/1 symbol_error`, `eth0 tx_drop`
    std::map<std::string, std::string> rates;         ///< by adapter: `100 Gb/sec (4X EDR)`, `25000 Mb/s`
    std::map<std::string, std::int64_t> adapter_sent; ///< bytes by InfiniBand or RoCE port that is up
    std::int64_t network_sent = 0;                    ///< bytes by network interfaces, loopback left out
};

/// `root` is prefixed to every path: "" for the host, a folder of copies in tests.
Counters read_counters(std::string const &root);

/// What was counted between two readings: errors that grew, bytes sent; rates of the later one.
Counters counted_between(Counters const &before, Counters const &after);

} // namespace weft
