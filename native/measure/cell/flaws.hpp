// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// What was found wrong: how often, and the first case in words.
struct Flaws {
    std::uint64_t count = 0;
    std::string first;

    /// Counts one more; `describe()` makes the sentence and is only called for the first.
    template <class Describe> void add(Describe &&describe) {
        if (count++ == 0) {
            first = describe();
        }
    }
    void join(Flaws const &other) {
        if (count == 0) {
            first = other.first;
        }
        count += other.count;
    }
};

} // namespace weft
