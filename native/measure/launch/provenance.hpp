// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/settings.hpp"
#include "mpi/team.hpp"
#include "record/plan.hpp"
#include "time/clock.hpp"

#include <string>

namespace weft {

/// The MPI library's own version string.
std::string library_version();

/// Settings of the MPI library: by the environment alone; with its control variables; its thresholds.
struct LibrarySettings {
    Settings environment;
    Settings all;
    Settings thresholds;
};

/// On rank 0, the environment alone if the plan names the launch that has the others. To list its control variables,
/// Open MPI loads all its components, and Debian's two PSM libraries time 0.1 s each as they are loaded, longer than a
/// small sweep: once in a walk is enough.
LibrarySettings read_settings(Team const &team, Plan const &plan);

/// Collective: the weft-launch/1 record of this launch, on rank 0 (METHOD 4). `init_ns`: MPI_Init on this rank.
std::string describe_launch(Team const &team, Plan const &plan, Clock const &clock, LibrarySettings const &settings,
                            std::int64_t init_ns);

} // namespace weft
