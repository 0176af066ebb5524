// SPDX-License-Identifier: BSD-3-Clause
// Failures and delays in the library's steps, and their visible effects.
#pragma once

#include "oracle.hpp"

#include "error.hpp"
#include "hooks.hpp"

#include <filesystem>
#include <unistd.h>

namespace oracle {

struct Hook {
    explicit Hook(weft::alltoall::StepHook hook) { weft::alltoall::step_hook = hook; }
    Hook(Hook const &) = delete;
    Hook &operator=(Hook const &) = delete;
    ~Hook() { weft::alltoall::step_hook = nullptr; }
};

/// Open descriptors of this process.
inline int descriptors() {
    using Entries = std::filesystem::directory_iterator;
    return int(std::distance(Entries("/proc/self/fd"), Entries()));
}

/// Number of segments left under our names by any process.
inline int segments_left() {
    int found = 0;
    for (auto const &entry : std::filesystem::directory_iterator("/dev/shm")) {
        found += entry.path().filename().string().starts_with("weft-alltoall-" + std::to_string(getpid())) ? 1 : 0;
    }
    return found;
}

} // namespace oracle
