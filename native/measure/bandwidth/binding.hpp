// SPDX-License-Identifier: BSD-3-Clause
// Which processor packages (sockets) a rank may run on, and whether two ranks are placed as a pattern requires. The
// actual binding is checked, not the one requested from the launcher.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// A set of sockets: bit k is package k. 0 if unknown (packages above 63, no /sys, a simulator).
using Sockets = std::uint64_t;

/// The sockets of CPUs such as "0-3,8", as Linux numbers them under `root` + /sys/devices/system/cpu.
Sockets sockets_of(std::string_view cpus, std::string const &root = "");

/// The result of the check of two ranks: a refusal ends the cell, a warning goes into its record; both may be empty.
struct BindingFinding {
    std::string refusal;
    std::string warning;
};

/// Checks that two ranks are placed as `pattern` (intra-socket, inter-socket, inter-node) requires. Any other pattern
/// requires nothing.
BindingFinding check_binding(std::string_view pattern, bool one_node, Sockets first, Sockets second);

} // namespace weft
