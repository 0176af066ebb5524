// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/settings.hpp"

namespace weft {

/// The `variables` that set the sizes at which a library changes its protocol or algorithm, the transports in use,
/// and how messages are copied inside a node.
/// They name the change-over points in the times (src/weft/mpi/knobs.py reads them).
Settings thresholds(Settings const &variables);

} // namespace weft
