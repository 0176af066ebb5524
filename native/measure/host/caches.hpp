// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Bytes of the largest cache of the first of `cpus`, such as "0-3,8", from `root` + /sys/devices/system/cpu; 0 if
/// unknown.
std::int64_t last_cache_bytes(std::string_view cpus, std::string const &root = "");

/// A warning if a footprint called `hot` or `cold` does not suit a cache of `holds` bytes (0: unknown); "" if it does.
/// Two sides share the cache: a hot footprint is at most a quarter of it. A cold one is at least twice as large, or
/// part of it would still be cached when the messages return to it.
std::string doubt_footprint(std::string_view cache, std::int64_t footprint, std::int64_t holds);

} // namespace weft
