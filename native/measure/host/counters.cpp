// SPDX-License-Identifier: BSD-3-Clause
#include "host/counters.hpp"

#include "host/host_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

namespace {

/// Of a port: what was damaged, lost or sent again. The hardware's own counters are those of mlx5 and its relatives.
constexpr std::string_view port_errors[] = {"counters/symbol_error",
                                            "counters/link_error_recovery",
                                            "counters/link_downed",
                                            "counters/port_rcv_errors",
                                            "counters/port_rcv_remote_physical_errors",
                                            "counters/port_xmit_discards",
                                            "counters/local_link_integrity_errors",
                                            "counters/excessive_buffer_overrun_errors",
                                            "hw_counters/out_of_sequence",
                                            "hw_counters/packet_seq_err",
                                            "hw_counters/local_ack_timeout_err",
                                            "hw_counters/rnr_nak_retry_err",
                                            "hw_counters/req_transport_retries_exceeded",
                                            "hw_counters/roce_slow_restart"};
/// Columns of /proc/net/dev. Frames of an unknown protocol are "dropped" on healthy hosts, so rx_drop tells nothing.
constexpr std::string_view columns[] = {"rx_bytes", "",           "rx_errs",    "", "rx_fifo", "rx_frame",
                                        "",         "",           "tx_bytes",   "", "tx_errs", "tx_drop",
                                        "tx_fifo",  "collisions", "tx_carrier", ""};
constexpr std::int64_t word_bytes = 4; // port_xmit_data counts words

std::string first_line(std::string const &path) {
    std::string const text = read_text(path);
    return text.substr(0, text.find('\n'));
}

/// Nothing where there is no number.
bool number_in(std::string const &path, std::int64_t &value) {
    std::istringstream text(read_text(path));
    return bool(text >> value);
}

std::vector<std::filesystem::path> entries(std::string const &folder) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        found.push_back(at->path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

void add_ports(Counters &found, std::string const &root) {
    for (auto const &device : entries(root + "/sys/class/infiniband")) {
        for (auto const &port : entries(device.string() + "/ports")) {
            if (first_line(port.string() + "/state").find("ACTIVE") == std::string::npos) {
                continue;
            }
            std::string const name = device.filename().string() + "/" + port.filename().string();
            found.rates[name] = first_line(port.string() + "/rate");
            std::int64_t value = 0;
            if (number_in(port.string() + "/counters/port_xmit_data", value)) {
                found.adapter_sent[name] = word_bytes * value;
            }
            for (std::string_view const error : port_errors) {
                if (number_in(port.string() + "/" + std::string(error), value)) {
                    found.errors[name + " " + std::string(error.substr(error.find('/') + 1))] = value;
                }
            }
        }
    }
}

/// /proc/net/dev has what /sys/class/net/*/statistics has, and always of the caller's own network namespace.
void add_interfaces(Counters &found, std::string const &root) {
    std::istringstream lines(read_text(root + "/proc/net/dev"));
    std::string line;
    while (std::getline(lines, line)) {
        std::size_t const colon = line.find(':');
        std::size_t const start = line.find_first_not_of(' ');
        if (colon == std::string::npos || start >= colon || line.substr(start, colon - start) == "lo") {
            continue;
        }
        std::string const name = line.substr(start, colon - start);
        std::istringstream numbers(line.substr(colon + 1));
        std::int64_t value = 0;
        for (std::string_view const column : columns) {
            if (!(numbers >> value)) {
                break;
            }
            if (column == "tx_bytes") {
                found.network_sent += value;
            } else if (!column.empty() && column != "rx_bytes") {
                found.errors[name + " " + std::string(column)] = value;
            }
        }
        std::int64_t speed = 0;
        if (number_in(root + "/sys/class/net/" + name + "/speed", speed) && speed > 0) {
            found.rates[name] = std::to_string(speed) + " Mb/s";
        }
    }
}

/// Segments that TCP sent again.
void add_retransmissions(Counters &found, std::string const &root) {
    std::istringstream lines(read_text(root + "/proc/net/snmp"));
    std::string names;
    std::string values;
    while (std::getline(lines, names) && std::getline(lines, values)) {
        std::istringstream words(names);
        std::istringstream numbers(values);
        std::string name;
        std::string number;
        while (words >> name && numbers >> number) {
            if (names.starts_with("Tcp:") && name == "RetransSegs") {
                found.errors["tcp retransmissions"] = std::int64_t(std::stoull(number));
            }
        }
    }
}

} // namespace

Counters read_counters(std::string const &root) {
    Counters found;
    add_ports(found, root);
    add_interfaces(found, root);
    add_retransmissions(found, root);
    return found;
}

Counters counted_between(Counters const &before, Counters const &after) {
    Counters found;
    found.rates = after.rates;
    found.network_sent = after.network_sent - before.network_sent;
    auto const earlier = [](auto const &map, std::string const &key) {
        auto const at = map.find(key);
        return at == map.end() ? std::int64_t{0} : at->second;
    };
    for (auto const &[key, value] : after.errors) {
        if (value > earlier(before.errors, key) && before.errors.contains(key)) {
            found.errors[key] = value - earlier(before.errors, key);
        }
    }
    for (auto const &[key, value] : after.adapter_sent) {
        found.adapter_sent[key] = value - earlier(before.adapter_sent, key);
    }
    return found;
}

} // namespace weft
