// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Collective: runs all cells of the plan in this file. Returns 0, or 3 if a result was proved wrong. `init_ns` is what
/// MPI_Init took on this rank, for the record; -1 if nobody measured it.
int run_launch(std::string const &plan_path, std::int64_t init_ns = -1);

} // namespace weft
