// SPDX-License-Identifier: BSD-3-Clause
// One strong mixing of 64 bits: for reproducible keys and for checksums.
#pragma once

#include <cstdint>

namespace weft {

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014): a bijection in which every input bit changes half of the
/// output bits.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

} // namespace weft
