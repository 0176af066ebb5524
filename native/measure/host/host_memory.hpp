// SPDX-License-Identifier: BSD-3-Clause
// How much memory this host, its cgroups and this process have left, as /proc and /sys/fs/cgroup tell it.
#pragma once

#include "host/platform.hpp"

#include <string>

namespace weft {

/// `root` stands before every path: "" is the host, a folder of copies serves the tests.
platform::Memory read_memory(std::string const &root);

/// The whole of a small file; empty when it cannot be read.
std::string read_text(std::string const &path);

} // namespace weft
