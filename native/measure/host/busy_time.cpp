// SPDX-License-Identifier: BSD-3-Clause
#include "host/busy_time.hpp"

#include <algorithm>
#include <sstream>
#include <string>

namespace weft {

std::int64_t busy_ticks(std::string_view stat, std::vector<int> const &cpus) {
    std::istringstream lines{std::string(stat)};
    std::string line;
    std::int64_t processes = 0;
    std::int64_t soft_interrupts = 0;
    std::int64_t hard_interrupts = 0;
    while (std::getline(lines, line) && line.starts_with("cpu")) {
        std::istringstream numbers(line.substr(3));
        int cpu = -1;
        std::int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
        if (line[3] == ' ') { // all CPUs together
            numbers >> user >> nice >> system >> idle >> iowait >> irq;
            hard_interrupts = irq;
            continue;
        }
        numbers >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
        if (std::binary_search(cpus.begin(), cpus.end(), cpu)) {
            processes += user + nice + system;
            soft_interrupts += softirq;
        }
    }
    return processes + (hard_interrupts == 0 ? soft_interrupts : 0);
}

} // namespace weft
