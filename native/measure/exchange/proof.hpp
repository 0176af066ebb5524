// SPDX-License-Identifier: BSD-3-Clause
// What one rank can prove about the result of an exchange by itself (METHOD 12). Pure: no MPI.
#pragma once

#include "cell/flaws.hpp"
#include "exchange/contention_set.hpp"
#include "exchange/m_vector.hpp"

#include <cstdint>
#include <span>

namespace weft {

/// Sum of a strong hash of each double's bits, modulo 2^64: the same for any order of the doubles, and a changed bit, a
/// lost or a doubled value changes it (but for one case in 2^64).
[[nodiscard]] std::uint64_t checksum(std::span<double const> elements);

/// Every element of the sorted contention set against the one value it must have. This alone proves order, count and
/// content.
[[nodiscard]] Flaws check_contention(ContentionSet const &set, int rank, ConstVectors sorted);

/// Call B's integers: what `rank` sends (low 31 bits of the key that call C sends from there), and a check of what it
/// received.
void write_integers(ContentionSet const &set, int rank, std::span<int> integers);
[[nodiscard]] Flaws check_integers(ContentionSet const &set, int rank, std::span<int const> received);

/// Keys in ascending order, no NaN, and every other element the one that belongs to its key. `position` in the messages
/// counts vectors of this rank.
[[nodiscard]] Flaws check_sorted(int rank, ConstVectors sorted);

} // namespace weft
