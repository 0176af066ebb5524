// SPDX-License-Identifier: BSD-3-Clause
// What only all ranks together can prove about a sort: that nothing was lost and that the ranks' parts follow one
// another.
#pragma once

#include "exchange/proof.hpp"
#include "mpi/team.hpp"

#include <cstdint>

namespace weft {

/// How many vectors a rank holds, and the checksum of their elements.
struct Contents {
    std::uint64_t vectors = 0;
    std::uint64_t checksum = 0;
};
[[nodiscard]] Contents contents_of(ConstVectors vectors);

/// Collective: the same sums over all ranks before and after. The flaw is counted on the last rank, so that a rank that
/// can name a vector speaks first.
[[nodiscard]] Flaws check_preserved(Team const &team, Contents before, Contents after);

/// Collective: the first key of this rank is not under the last key of the nearest rank before it that holds any.
[[nodiscard]] Flaws check_order_across(Team const &team, ConstVectors sorted);

} // namespace weft
