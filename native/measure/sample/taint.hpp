// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/platform.hpp"

#include <algorithm>
#include <cstdint>

namespace weft {

/// Disturbances of a sample, in one integer: involuntary context switches in the low 32 bits, major page faults in bits
/// 32 to 62. 0 is a clean sample.
inline std::int64_t taint(platform::Usage const &before, platform::Usage const &after) noexcept {
    auto const within = [](std::int64_t value, std::int64_t most) { return std::clamp<std::int64_t>(value, 0, most); };
    return within(after.involuntary_switches - before.involuntary_switches, 0xffff'ffff) |
           within(after.major_faults - before.major_faults, 0x7fff'ffff) << 32;
}

} // namespace weft
