// SPDX-License-Identifier: BSD-3-Clause
// Ways to copy memory, of which a lower bound takes the fastest: which one that is depends on host and size.
#pragma once

#include "cell/flaws.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// How the bytes of a copy are loaded and stored. A library of the C language changes its way at some size; MPI
/// libraries copy in pieces, so that they stay below that size. Which way is the fastest no table says: a bound that
/// takes one that is not is beaten by a library that takes it.
struct CopyWay {
    enum class By {
        memcpy,   ///< the C library: one call for all bytes, or one for each piece
        streams,  ///< stores that go past the caches
        backward, ///< the last bytes first, by wide registers
        string,   ///< the processor's instruction `rep movsb`
    };
    By by = By::memcpy;
    std::size_t piece = 0; ///< bytes of a piece of memcpy; 0: all at once

    /// What follows `copy-<bytes>` in the name of its operation.
    std::string suffix() const;
    void copy(std::byte *to, std::byte const *from, std::size_t bytes) const noexcept;
};

/// The ways of this processor worth measuring at a size. Those that may leave the target outside the caches are first:
/// they slow the next way down, and that is not one for pieces.
std::vector<CopyWay> copy_ways(std::size_t bytes);

/// How many times each way of a size is tried before the fastest is measured.
int copy_tries(std::size_t bytes) noexcept;

/// The way with the shortest time of its slowest rank. The ways take turns, and the best of some tries counts: what
/// disturbs a try does not decide. `once_ns(way)` tries once on this rank; `slowest_ns(mine)` is the most over all
/// ranks.
template <class Once, class Slowest>
CopyWay fastest_of(std::span<CopyWay const> ways, int tries, Once &&once_ns, Slowest &&slowest_ns) {
    std::vector<std::int64_t> best_ns(ways.size(), std::numeric_limits<std::int64_t>::max());
    for (int k = 0; k < tries && ways.size() > 1; ++k) {
        for (std::size_t w = 0; w < ways.size(); ++w) {
            best_ns[w] = std::min<std::int64_t>(best_ns[w], once_ns(ways[w]));
        }
    }
    for (std::int64_t &best : best_ns) {
        best = slowest_ns(best);
    }
    return ways[std::size_t(std::min_element(best_ns.begin(), best_ns.end()) - best_ns.begin())];
}

/// Makes every byte of `to` differ from the one that must come.
void fill_with_complement(std::span<std::byte> to, std::span<std::byte const> from) noexcept;

/// Copies once by `copy(to, from, bytes)` over bytes that all differ, and compares. `spoil()` stands for a fault of the
/// copy.
template <class Copy, class Spoil>
Flaws prove_copy(Copy &&copy, std::span<std::byte> to, std::span<std::byte const> from, std::string const &who,
                 Spoil &&spoil) {
    Flaws flaws;
    fill_with_complement(to, from);
    copy(to.data(), from.data(), to.size());
    spoil();
    if (std::memcmp(to.data(), from.data(), to.size()) != 0) {
        auto const at = std::mismatch(to.begin(), to.end(), from.begin()).first;
        flaws.add([&] {
            return who + ": byte " + std::to_string(at - to.begin()) + " of " + std::to_string(to.size()) +
                   " was not copied";
        });
    }
    return flaws;
}

} // namespace weft
