// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace weft {

/// Collective: runs the plan in this file from its first cell to its last. 0, or 3 when a result was proven wrong.
int run_launch(std::string const &plan_path);

} // namespace weft
