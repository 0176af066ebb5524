// SPDX-License-Identifier: BSD-3-Clause
// Which processor packages (sockets) a rank may run on, and whether two ranks sit as a pattern asks: what the launcher
// was asked for is not trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// A set of sockets: bit k stands for package k. 0 where nobody can tell (packages above 63, no /sys, a simulator).
using Sockets = std::uint64_t;

/// The sockets of CPUs such as "0-3,8", as Linux numbers them under `root` + /sys/devices/system/cpu.
Sockets sockets_of(std::string_view cpus, std::string const &root = "");

/// What is to be said of two ranks: a refusal ends the cell, a warning stands in its record; both may be empty.
struct BindingFinding {
    std::string refusal;
    std::string warning;
};

/// Do two ranks sit as `pattern` (intra-socket, inter-socket, inter-node) asks? Any other pattern asks for nothing.
BindingFinding check_binding(std::string_view pattern, bool one_node, Sockets first, Sockets second);

} // namespace weft
