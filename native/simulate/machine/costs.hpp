// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "zone.hpp"

namespace weft::simulate {

// Has SMPI charge each send what the fabric says a message and a first contact cost. `zone` outlives the simulation.
void charge_messages(Zone const &zone);

} // namespace weft::simulate
