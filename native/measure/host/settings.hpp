// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft {

using Settings = std::map<std::string, std::string, std::less<>>;

/// The MPI library's control variables (MPI_T) that belong to no object, as they stand. Between MPI_Init and Finalize.
Settings control_variables();

/// `name=value` lines and back; line breaks and backslashes in a value are escaped.
std::string to_lines(Settings const &settings);
Settings from_lines(std::string_view text);

/// What of the environment an MPI library listens to.
Settings mpi_environment();

/// Both together: what `weft-measure --settings` prints. To serve as defaults it is to be started by mpiexec at 2 ranks
/// in a clean environment, because a launcher sets variables, too, and some parts of a library come up only with 2.
Settings all_settings();

/// The control variables that differ from `defaults` (those it does not know belong to parts of the library that were
/// not up then) and the environment's variables that differ from it or are not in it; without what launchers write for
/// their own purposes.
Settings differences(Settings const &variables, Settings const &environment, Settings const &defaults);

} // namespace weft
