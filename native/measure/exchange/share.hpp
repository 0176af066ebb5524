// SPDX-License-Identifier: BSD-3-Clause
// The vectors of a rank at the start: n / p each, the first n mod p ranks one more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

struct Share {
    std::uint64_t n = 0;
    int ranks = 1;

    [[nodiscard]] constexpr std::uint64_t p() const { return static_cast<std::uint64_t>(ranks); }
    [[nodiscard]] constexpr std::uint64_t count(int rank) const {
        return n / p() + (static_cast<std::uint64_t>(rank) < n % p() ? 1 : 0);
    }
    /// Global index of the rank's first vector.
    [[nodiscard]] constexpr std::uint64_t first(int rank) const {
        auto const r = static_cast<std::uint64_t>(rank);
        return r * (n / p()) + std::min(r, n % p());
    }
    [[nodiscard]] constexpr std::uint64_t largest() const { return count(0); }
};

} // namespace weft
