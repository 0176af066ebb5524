// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Bytes of the largest cache that the first of these CPUs has, such as "0-3,8", as Linux tells it under `root` +
/// /sys/devices/system/cpu; 0 where it does not.
std::int64_t last_cache_bytes(std::string_view cpus, std::string const &root = "");

/// What to say of a footprint that is called `hot` or `cold` beside a cache of `holds` bytes (0: unknown); "" where the
/// name fits. Two sides share the cache: a hot footprint is at most a quarter of it. A cold one is at least twice as
/// large, or a part of it is still there when the messages come round again.
std::string doubt_footprint(std::string_view cache, std::int64_t footprint, std::int64_t holds);

} // namespace weft
