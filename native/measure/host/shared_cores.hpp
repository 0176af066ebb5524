// SPDX-License-Identifier: BSD-3-Clause
// Whether ranks share a core, from their actual bindings, not from the plan (METHOD 11).
#pragma once

#include "mpi/team.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The cores of one rank. The numbers only serve for comparison between ranks of a node.
using Cores = std::vector<int>;

/// The cores of CPUs such as "0-3,8", from `root` + /sys/devices/system/cpu; hardware threads of a core count as one. A
/// CPU without information is a separate core.
Cores cores_of(std::string_view cpus, std::string const &root = "");

/// Ranks of one node that cannot each have their own core, for any assignment within their bindings: one of them, and
/// those it competes with; empty if all can. Indices into `ranks`.
std::vector<int> crowded(std::vector<Cores> const &ranks);

/// Collective. On every rank: warnings of a node where ranks share a core, and of nodes that are made up on one host;
/// none in a simulator.
std::vector<std::string> placement_warnings(Team const &team);

} // namespace weft
