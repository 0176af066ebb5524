// SPDX-License-Identifier: BSD-3-Clause
#include "cell/kernels.hpp"

#include <array>
#include <string>

namespace weft {

std::span<Kernel const> kernels() {
    static constexpr std::array table{
        Kernel{"exchange", exchange_need, run_exchange, true},
        Kernel{"collective", collective_need, run_collective, true},
        Kernel{"bandwidth", bandwidth_need, run_bandwidth, true},
        Kernel{"pairs", pairs_need, run_pairs},
        Kernel{"replay", replay_need, run_replay},
        Kernel{"probe", probe_need, run_probe},
        Kernel{"interference", interference_need, run_interference, false, interfere, interference_need_beside},
        Kernel{"floor", floor_need, run_floor},
    };
    return table;
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
