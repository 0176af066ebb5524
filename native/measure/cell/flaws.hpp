// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Errors found by a proof: their number, and a description of the first.
struct Flaws {
    std::uint64_t count = 0;
    std::string first;

    /// Counts one more error; `describe()` returns its description and is only called for the first.
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
