// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/platform.hpp"

#include <algorithm>
#include <cstdint>

namespace weft {

/// Disturbances of a sample, in one integer: involuntary context switches in the low 32 bits, major page faults in bits
/// 32 to 62. 0 is a clean sample.
inline std::int64_t taint(std::int64_t involuntary_switches, std::int64_t major_faults) noexcept {
    return std::clamp<std::int64_t>(involuntary_switches, 0, 0xffff'ffff) |
           std::clamp<std::int64_t>(major_faults, 0, 0x7fff'ffff) << 32;
}

/// Those between two readings on one rank.
inline std::int64_t taint(platform::Usage const &before, platform::Usage const &after) noexcept {
    return taint(after.involuntary_switches - before.involuntary_switches, after.major_faults - before.major_faults);
}

/// Those of two ranks that take part in one sample.
inline std::int64_t both_taints(std::int64_t one, std::int64_t other) noexcept {
    constexpr std::int64_t low = 0xffff'ffff;
    return taint((one & low) + (other & low), (one >> 32) + (other >> 32));
}

} // namespace weft
