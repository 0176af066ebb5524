// SPDX-License-Identifier: BSD-3-Clause
// Proofs of the result of an exchange that one rank can do alone (METHOD 12). Pure: no MPI.
#pragma once

#include "cell/flaws.hpp"
#include "exchange/contention_set.hpp"
#include "exchange/m_vector.hpp"

#include <cstdint>
#include <span>

namespace weft {

/// Sum of a strong hash of each double's bits, modulo 2^64: independent of their order; a changed bit and a lost or
/// duplicated value change it (except one case in 2^64).
[[nodiscard]] std::uint64_t checksum(std::span<double const> elements);

/// Checks that every element of the sorted contention set has its expected value, which proves order, count and
/// content.
[[nodiscard]] Flaws check_contention(ContentionSet const &set, int rank, ConstVectors sorted);

/// Call B's integers: what `rank` sends (low 31 bits of the key that call C sends from there), and a check of what it
/// received.
void write_integers(ContentionSet const &set, int rank, std::span<int> integers);
[[nodiscard]] Flaws check_integers(ContentionSet const &set, int rank, std::span<int const> received);

/// Checks that keys are ascending and not NaN, and that all other elements agree with their key. `position` in the
/// messages counts vectors of this rank.
[[nodiscard]] Flaws check_sorted(int rank, ConstVectors sorted);

} // namespace weft
