// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/team.hpp"
#include "record/plan.hpp"
#include "time/clock.hpp"

#include <string>

namespace weft {

/// The MPI library's own version string.
std::string library_version();

/// Collective: the weft-launch/1 record of this launch, on rank 0 (METHOD 4).
std::string describe_launch(Team const &team, Plan const &plan, Clock const &clock);

} // namespace weft
