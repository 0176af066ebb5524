// SPDX-License-Identifier: BSD-3-Clause
// Ways to copy memory, of which a lower bound takes the fastest: which one that is depends on host and size.
#pragma once

#include "cell/flaws.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// One call of memcpy for all bytes, one for each piece, or stores that go past the caches. A library of the C
/// language changes its way of storing at some size; MPI libraries copy in pieces, so that they stay below that size.
struct CopyWay {
    std::size_t piece = 0; ///< bytes of a piece; 0: all at once
    bool streams = false;  ///< with non-temporal stores

    /// What follows `copy-<bytes>` in the name of its operation.
    std::string suffix() const { return streams ? "-streamed" : piece > 0 ? "-in-" + std::to_string(piece) : ""; }
    void copy(std::byte *to, std::byte const *from, std::size_t bytes) const noexcept;
};

/// The ways worth measuring at a size: pieces smaller than it, and streams only from 1 MiB up. Streams are first: they
/// leave the target outside the caches, which slows the next way down, and that is the one for all bytes at once.
std::vector<CopyWay> copy_ways(std::size_t bytes);

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
