// SPDX-License-Identifier: BSD-3-Clause
#include "host/host_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

namespace weft {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// The number after `key` at the start of a line, like "MemAvailable:  123 kB" or "total_inactive_file 4096".
std::optional<std::int64_t> number_after(std::string const &text, std::string const &key) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        if (line.compare(0, key.size(), key) == 0) {
            return std::strtoll(line.c_str() + key.size(), nullptr, 10);
        }
    }
    return std::nullopt;
}

/// The number in a file with one number; "max", a missing file and cgroup v1's 2^63 minus a page mean no limit.
std::int64_t limit_in(std::string const &path) {
    std::string const text = read_text(path);
    if (text.empty() || text.front() < '0' || text.front() > '9') {
        return no_limit;
    }
    std::int64_t const value = std::strtoll(text.c_str(), nullptr, 10);
    return value > (std::int64_t(1) << 60) ? no_limit : value;
}

/// The files of a cgroup version.
struct Generation {
    std::string mount;
    std::string limit;
    std::string used;
    std::string cache; // key in memory.stat: page cache that the kernel reclaims before it kills
};

/// Free memory of one group: reclaimable page cache counts as free, as in MemAvailable.
std::int64_t left_in(std::string const &folder, Generation const &generation) {
    std::int64_t const limit = limit_in(folder + "/" + generation.limit);
    if (limit == no_limit) {
        return no_limit;
    }
    std::int64_t const used = limit_in(folder + "/" + generation.used);
    std::int64_t const cache = number_after(read_text(folder + "/memory.stat"), generation.cache).value_or(0);
    return std::max<std::int64_t>(0, limit - (used == no_limit ? 0 : used) + cache);
}

/// The smallest free memory of a group and its parents.
std::int64_t left_along(std::string const &root, std::string path, Generation const &generation) {
    std::int64_t least = no_limit;
    while (true) {
        least = std::min(least, left_in(root + generation.mount + path, generation));
        if (path.empty()) {
            return least; // the mount itself: in a container, its own group
        }
        path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    }
}

std::int64_t cgroup_left(std::string const &root) {
    Generation const first{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                           "total_inactive_file "};
    Generation const second{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
    std::int64_t least = no_limit;
    std::istringstream lines(read_text(root + "/proc/self/cgroup"));
    std::string line;
    while (std::getline(lines, line)) { // "4:memory:/path", or "0::/path" of version 2
        std::size_t const controllers = line.find(':') + 1;
        std::size_t const path = line.find(':', controllers) + 1;
        if (controllers == 0 || path == 0) {
            continue;
        }
        std::string const names = "," + line.substr(controllers, path - 1 - controllers) + ",";
        std::string const group = line.substr(path) == "/" ? "" : line.substr(path);
        if (names.find(",memory,") != std::string::npos) {
            least = std::min(least, left_along(root, group, first));
        } else if (names == ",,") {
            least = std::min(least, left_along(root, group, second));
        }
    }
    return least;
}

std::int64_t address_space_left(std::string const &root) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return no_limit;
    }
    std::int64_t const pages = std::strtoll(read_text(root + "/proc/self/statm").c_str(), nullptr, 10);
    return std::max<std::int64_t>(0, std::int64_t(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE));
}

} // namespace

std::string read_text(std::string const &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

platform::Memory read_memory(std::string const &root) {
    std::string const meminfo = read_text(root + "/proc/meminfo");
    auto const kibibytes = number_after(meminfo, "MemAvailable:");
    std::int64_t const available = kibibytes ? *kibibytes * 1024 : no_limit;
    std::int64_t const group = cgroup_left(root);
    return {std::min(available, group), group < available ? "cgroup limit" : "MemAvailable", address_space_left(root)};
}

} // namespace weft
