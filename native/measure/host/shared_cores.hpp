// SPDX-License-Identifier: BSD-3-Clause
// Do two ranks have to take turns on one core? By the bindings that they obtained, whatever the plan thought (METHOD
// 11).
#pragma once

#include "mpi/team.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The cores of one rank: numbers of no meaning but that two ranks of a node that have one in common can meet on it.
using Cores = std::vector<int>;

/// The cores of CPUs such as "0-3,8", as Linux tells them under `root` + /sys/devices/system/cpu: hardware threads of a
/// core are one. A CPU of which it tells nothing is a core of its own.
Cores cores_of(std::string_view cpus, std::string const &root = "");

/// Ranks of one node that cannot each have a core to themselves, however they are spread over the cores they may use:
/// one of them, and those it competes with; empty when all can. Places in `ranks`.
std::vector<int> crowded(std::vector<Cores> const &ranks);

/// Collective. On rank 0: what to say of each node where ranks share a core; "" when none do, and in a simulator.
std::string shared_core_warning(Team const &team);

} // namespace weft
