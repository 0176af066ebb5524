// SPDX-License-Identifier: BSD-3-Clause
// SMPI has no MPI_T. The settings of a simulated library are in the command line of the launch, which the launcher
// records.
#include "host/settings.hpp"

namespace weft {

Settings control_variables() {
    return {};
}

} // namespace weft
