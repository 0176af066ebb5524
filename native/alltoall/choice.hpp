// SPDX-License-Identifier: BSD-3-Clause
// The algorithm that a selection table gives a call, from what all ranks know or have agreed on, and nothing else.
#pragma once

#include "call.hpp"
#include "table.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weft::alltoall {

/// The size of a block; of unequal ones the mean of those that this rank sends.
template <typename Call> std::int64_t mean_bytes(Call const &call, int ranks);

/// What a table gives a call, as long as the rules that it was chosen by are there.
struct Choice {
    Spec const *spec = &library_own;
    bool agreed = false;       ///< whether the ranks reduced their sizes for it
    double agreed_seconds = 0; ///< the time of that
};

/// The rules of a table that can apply to a communicator, of MPI_Alltoall and of MPI_Alltoallv: found once, since a
/// call of a few bytes lasts not much longer than looking for its nodes and rules.
struct OwnRules {
    std::array<std::optional<SizeRules>, 2> of;
};

/// Collective. `number`: of this call among those of its kind on the communicator, from 1; `ranks`: of the
/// communicator; `own`: the same object for all calls by this table on it. The library's own algorithm for the first
/// call, since many communicators are used for one call only, and where no rule matches. Throws Error.
template <typename Call>
Choice choose(Table const &table, Call const &call, std::int64_t number, int ranks, OwnRules &own);

} // namespace weft::alltoall
