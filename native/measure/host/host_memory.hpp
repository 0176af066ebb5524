// SPDX-License-Identifier: BSD-3-Clause
// Free memory of this host, its cgroups and this process, from /proc and /sys/fs/cgroup.
#pragma once

#include "host/platform.hpp"

#include <string>

namespace weft {

/// `root` is prefixed to every path: "" for the host, a folder of copies in tests.
platform::Memory read_memory(std::string const &root);

/// The content of a small file; empty if it cannot be read.
std::string read_text(std::string const &path);

} // namespace weft
