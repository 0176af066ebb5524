// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "zone.hpp"

namespace weft::simulate {

// Has SMPI charge each send what the fabric says a message and a first contact cost. `zone` outlives the simulation.
void charge_messages(Zone const &zone);

// What is sent during the life of one costs nothing and meets nobody.
class Free {
  public:
    Free();
    Free(Free const &) = delete;
    Free &operator=(Free const &) = delete;
    ~Free();
};

} // namespace weft::simulate
