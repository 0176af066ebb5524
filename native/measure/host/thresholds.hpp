// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/settings.hpp"

namespace weft {

/// Those of `variables` that say at which size a library changes its protocol or algorithm, and through which parts of
/// it messages go: what a change-over point in the times is named by (src/weft/mpi/knobs.py reads them).
Settings thresholds(Settings const &variables);

} // namespace weft
