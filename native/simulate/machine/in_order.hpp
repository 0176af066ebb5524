// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "zone.hpp"

namespace weft::simulate {

// Lets a message between two ranks wait until those sent before it on the same way have arrived. `zone` must outlive
// the simulation.
void keep_messages_in_order(Zone const &zone);

} // namespace weft::simulate
