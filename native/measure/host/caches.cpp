// SPDX-License-Identifier: BSD-3-Clause
#include "host/caches.hpp"

#include "host/host_memory.hpp"

#include <algorithm>
#include <charconv>

namespace weft {

namespace {

/// "32768K" in bytes; 0 for anything else.
std::int64_t cache_size(std::string const &text) {
    std::int64_t size = 0;
    char const *const last = text.data() + text.size();
    auto const [end, error] = std::from_chars(text.data(), last, size);
    if (error != std::errc{}) {
        return 0;
    }
    char const unit = end == last ? '\n' : *end;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : unit == 'G' ? size << 30 : size;
}

} // namespace

std::int64_t last_cache_bytes(std::string_view cpus, std::string const &root) {
    std::string const cpu(cpus.substr(0, cpus.find_first_not_of("0123456789")));
    std::int64_t largest = 0;
    for (int index = 0; !cpu.empty(); ++index) {
        std::string const text =
            read_text(root + "/sys/devices/system/cpu/cpu" + cpu + "/cache/index" + std::to_string(index) + "/size");
        if (text.empty()) {
            break;
        }
        largest = std::max(largest, cache_size(text));
    }
    return largest;
}

std::string doubt_footprint(std::string_view cache, std::int64_t footprint, std::int64_t holds) {
    auto const mebibytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    std::string const beside =
        " footprint of " + mebibytes(footprint) + " beside a cache of " + mebibytes(holds) + " is not ";
    if (holds > 0 && cache == "hot" && 4 * footprint > holds) {
        return "a" + beside + "hot: set hot_footprint in the study's [bandwidth] to at most a quarter of the cache";
    }
    if (holds > 0 && cache == "cold" && footprint < 2 * holds) {
        return "a" + beside + "cold: set cold_footprint in the study's [bandwidth] to at least twice the cache";
    }
    return "";
}

} // namespace weft
