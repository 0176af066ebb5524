// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "zone.hpp"

#include <cstdint>

namespace weft::simulate {

// Description::alltoall_steps; mended.cpp has the algorithms.
std::int32_t &alltoall_steps();

// Makes SMPI charge each send the fabric's cost of a message and of a first contact. `zone` must outlive the
// simulation.
void charge_messages(Zone const &zone);

// During its lifetime messages cost nothing and open no connections.
class Free {
  public:
    Free();
    Free(Free const &) = delete;
    Free &operator=(Free const &) = delete;
    ~Free();
};

} // namespace weft::simulate
