// SPDX-License-Identifier: BSD-3-Clause
// Step (i): the local sort. An index is sorted by key and the vectors are gathered into the other array, so that a
// vector of any length moves once and no third array of vectors is needed.
#pragma once

#include "exchange/m_vector.hpp"

#include <cstdint>
#include <span>

namespace weft {

/// A key and its position. Positions break ties, so all (key, place) pairs differ and n equal keys can be divided
/// anywhere.
struct KeyPlace {
    double key = 0;
    std::uint64_t place = 0;

    friend bool operator<(KeyPlace const &a, KeyPlace const &b) {
        return a.key < b.key || (a.key == b.key && a.place < b.place);
    }
};

/// Index entries that sort_vectors needs: none for m = 1, where the vectors themselves are sorted.
[[nodiscard]] constexpr std::uint64_t index_entries(std::uint64_t vectors, std::uint64_t m) {
    return m == 1 ? 0 : vectors;
}

/// Sorts `from` by key into `to`; stable. `index` has index_entries() entries. No key may be a NaN.
void sort_vectors(ConstVectors from, Vectors to, std::span<KeyPlace> index);

} // namespace weft
