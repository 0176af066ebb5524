// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/team.hpp"
#include "record/plan.hpp"
#include "time/clock.hpp"

#include <string>

namespace weft {

/// The MPI library's own version string.
std::string library_version();

/// Collective: the weft-launch/1 record of this launch, on rank 0 (METHOD 4). `init_ns`: MPI_Init on this rank.
std::string describe_launch(Team const &team, Plan const &plan, Clock const &clock, std::int64_t init_ns);

} // namespace weft
