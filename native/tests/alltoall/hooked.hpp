// SPDX-License-Identifier: BSD-3-Clause
// Failures and delays in the library's steps, and their visible effects.
#pragma once

#include "oracle.hpp"

#include "error.hpp"
#include "hooks.hpp"

#include <filesystem>
#include <fstream>
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

/// A file of rounds for so many ranks, written by rank 0, and the algorithm that reads it.
struct Rounds {
    explicit Rounds(Ranks const &ranks)
        : path(std::filesystem::temp_directory_path() /
               ("weft-rounds-" + std::to_string(ranks.count) + "-" + std::to_string(getppid()))),
          spec("sched{file=" + path + "}"), mine(ranks.me == 0) {
        if (!mine) {
            return;
        }
        std::ofstream file(path);
        file << "weft-rounds 1\nranks " << ranks.count << "\n";
        for (int s = 1; s < ranks.count; ++s) {
            file << "round\n";
            for (int rank = 0; rank < ranks.count; ++rank) {
                file << rank << " " << (rank + s) % ranks.count << "\n";
            }
        }
    }
    Rounds(Rounds const &) = delete;
    Rounds &operator=(Rounds const &) = delete;
    ~Rounds() {
        if (mine) {
            std::filesystem::remove(path);
        }
    }

    std::string path;
    std::string spec;
    bool mine;
};

} // namespace oracle
