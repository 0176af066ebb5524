// SPDX-License-Identifier: BSD-3-Clause
// The algorithm that a selection table gives a call, from what all ranks know or have agreed on, and nothing else.
#pragma once

#include "call.hpp"
#include "table.hpp"

#include <cstdint>

namespace weft::alltoall {

/// The size of a block; of unequal ones the mean of those that this rank sends.
std::int64_t mean_bytes(Exchange const &exchange);

/// What a table gives a call.
struct Choice {
    Spec spec;                 ///< the library's own algorithm by default
    bool agreed = false;       ///< whether the ranks reduced their sizes for it
    double agreed_seconds = 0; ///< the time of that
};

/// Collective. `number`: of this call among those of its kind on the communicator, from 1; `ranks`: of the
/// communicator. The library's own algorithm for the first call, since many communicators are used for one call only,
/// and where no rule matches. Throws Error.
template <typename Call> Choice choose(Table const &table, Call const &call, std::int64_t number, int ranks);

} // namespace weft::alltoall
