// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace weft {

/// Collective: runs all cells of the plan in this file. Returns 0, or 3 if a result was proved wrong.
int run_launch(std::string const &plan_path);

} // namespace weft
