// SPDX-License-Identifier: BSD-3-Clause
// Proofs of a sort that need all ranks: nothing was lost, and the ranks' parts are in order.
#pragma once

#include "exchange/proof.hpp"
#include "mpi/team.hpp"

#include <cstdint>

namespace weft {

/// Number of vectors of a rank, and the checksum of their elements.
struct Contents {
    std::uint64_t vectors = 0;
    std::uint64_t checksum = 0;
};
[[nodiscard]] Contents contents_of(ConstVectors vectors);

/// Collective: checks that the sums over all ranks are the same before and after. A flaw is counted on the last rank,
/// so that a rank that can name a vector takes precedence.
[[nodiscard]] Flaws check_preserved(Team const &team, Contents before, Contents after);

/// Collective: checks that the first key of this rank is not below the last key of the nearest lower rank with keys.
[[nodiscard]] Flaws check_order_across(Team const &team, ConstVectors sorted);

} // namespace weft
