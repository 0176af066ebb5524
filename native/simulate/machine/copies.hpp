// SPDX-License-Identifier: BSD-3-Clause
// Copies that a rank makes within a collective. They take the node's memory, together with those of its other ranks.
#pragma once

#include <cstddef>

namespace weft::simulate {

// From now on the copies of SMPI's own algorithms are charged, too (Bruck's: it rotates and packs its blocks).
void charge_library_copies();

} // namespace weft::simulate

extern "C" {
// Whether the copies of SMPI's own algorithms are charged.
bool weft_charges_library_copies();
// Notes a copy of the calling rank. Each moves whole cache lines of 64 bytes, which is what makes small ones dear.
void weft_charge_copy(std::size_t bytes);
// Makes the rank wait for the copies noted since the last time: all of them share one flow, and one latency.
void weft_settle_copies();
}
