// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weft {

using Settings = std::map<std::string, std::string, std::less<>>;

/// Values of the MPI library's control variables (MPI_T) that are not bound to an object. Between MPI_Init and
/// Finalize.
Settings control_variables();

/// `name=value` lines and back; line breaks and backslashes in a value are escaped.
std::string to_lines(Settings const &settings);
Settings from_lines(std::string_view text);

/// Environment variables that MPI libraries read.
Settings mpi_environment();

/// Both together: what `weft-measure --settings` prints. For the defaults, start it by mpiexec with 2 ranks in a clean
/// environment, because a launcher sets variables too, and some parts of a library are initialised only with 2 ranks.
Settings all_settings();

/// The control variables that differ from `defaults` (those not in it belong to parts of the library that were not
/// initialised then) and the environment variables that differ from it or are not in it, without those that launchers
/// set for their own purposes.
Settings differences(Settings const &variables, Settings const &environment, Settings const &defaults);

} // namespace weft
