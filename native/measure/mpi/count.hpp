// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/error.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace weft {

/// A count for an MPI-3 call. Throws Failure, with `what`, if it does not fit into an int (METHOD 24).
inline int to_count(std::uint64_t count, char const *what) {
    constexpr auto most = std::uint64_t(std::numeric_limits<int>::max());
    if (count > most) {
        throw Failure(std::to_string(count) + " " + what + " are more than the " + std::to_string(most) +
                          " that one MPI call counts",
                      "ask for fewer samples (max_samples in [measure]), fewer sizes a cell, or fewer ranks");
    }
    return int(count);
}

} // namespace weft
