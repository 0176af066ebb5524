// SPDX-License-Identifier: BSD-3-Clause
// Counts of the replayed calls, which are ints: over 2 GiB they count elements of 8 bytes (METHOD 24).
#pragma once

#include "replay/script.hpp"

#include <cstdint>
#include <mpi.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// Type and count of some bytes: over 2 GiB they are counted in doubles, rounded up.
struct Counted {
    int count;
    MPI_Datatype type;
    explicit Counted(std::int64_t bytes);
};

/// Operand of a reduction: doubles, or single bytes where the vector does not consist of doubles.
struct Reduced {
    int count;
    MPI_Datatype type;
    MPI_Op op;
    explicit Reduced(std::int64_t bytes);
};

/// Bytes of an element of a call with a count for each rank: 1, or 8 where an int does not hold the sum of all bytes
/// and every part, and what the action itself gives and gets, is a multiple of 8.
int unit_of(std::span<std::int64_t const> parts, Action const &action);
MPI_Datatype type_of(int unit);
/// Counts and displacements of parts that stand one behind the other.
void set_parts(std::span<std::int64_t const> bytes, int unit, std::vector<int> &counts, std::vector<int> &places);

/// Why no MPI call can count what an action has, with its number; nothing if all can be counted. `sizes` as for
/// `wrong_action`, which has found nothing.
std::optional<std::string> uncountable_action(Script const &script, std::vector<int> const &sizes);

} // namespace weft
