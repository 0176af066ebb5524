// SPDX-License-Identifier: BSD-3-Clause
#include "cell/kernels.hpp"

#include <string>
#include <vector>

namespace weft {

// A program has the kernels that are linked into it (native/units.cmake); the functions of others are null.
[[gnu::weak]] Need exchange_need(Cell const &cell);
[[gnu::weak]] void run_exchange(Cell &cell);
[[gnu::weak]] Need collective_need(Cell const &cell);
[[gnu::weak]] void run_collective(Cell &cell);
[[gnu::weak]] Need bandwidth_need(Cell const &cell);
[[gnu::weak]] void run_bandwidth(Cell &cell);
[[gnu::weak]] Need pairs_need(Cell const &cell);
[[gnu::weak]] void run_pairs(Cell &cell);
[[gnu::weak]] Need probe_need(Cell const &cell);
[[gnu::weak]] void run_probe(Cell &cell);
[[gnu::weak]] Need replay_need(Cell const &cell);
[[gnu::weak]] void run_replay(Cell &cell);
[[gnu::weak]] Need interference_need(Cell const &cell);
[[gnu::weak]] Need interference_need_beside(Cell const &cell);
[[gnu::weak]] void run_interference(Cell &cell);
[[gnu::weak]] std::function<bool()> interfere(Cell &cell);

std::span<Kernel const> kernels() {
    static std::vector<Kernel> const linked = [] {
        std::vector<Kernel> found{
            {"exchange", exchange_need, run_exchange, true},
            {"collective", collective_need, run_collective, true},
            {"bandwidth", bandwidth_need, run_bandwidth, true},
            {"pairs", pairs_need, run_pairs},
            {"replay", replay_need, run_replay},
            {"probe", probe_need, run_probe},
            {"interference", interference_need, run_interference, false, interfere, interference_need_beside},
            {"floor", floor_need, run_floor},
        };
        std::erase_if(found, [](Kernel const &each) { return each.run == nullptr; });
        return found;
    }();
    return linked;
}

Kernel const &kernel_named(std::string_view name) {
    std::string known;
    for (Kernel const &kernel : kernels()) {
        if (kernel.name == name) {
            return kernel;
        }
        known += (known.empty() ? "" : ", ") + std::string(kernel.name);
    }
    throw Failure("unknown kernel `" + std::string(name) + "`", "this weft-measure has: " + known, true);
}

} // namespace weft
