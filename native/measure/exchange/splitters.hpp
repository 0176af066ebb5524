// SPDX-License-Identifier: BSD-3-Clause
// Regular sampling: assigns vectors to ranks with an upper bound of what any rank receives.
//
// Let rank r have l_r sorted vectors, l = max l_r, and s the number of samples requested from a rank. With the width w
// = ceil(l / s), every w-th vector of a rank is a sample (places w - 1, 2 w - 1, ...), t_r = floor(l_r / w) <= s of
// them, T = sum t_r in all. Vectors are ordered by (key, place in the sorted local array counted over all ranks): no
// two are equal. Rank j receives everything after sample floor(j T / p) up to and with sample floor((j + 1) T / p) of
// the sorted samples, which are at most g = ceil(T / p) samples. On one rank, k samples of its own within those limits
// have at most k w vectors up to the last of them and at most w - 1 after it. Summed over p ranks:
//
//     received <= w g + p (w - 1)          (and never more than n)
//
// With s = c p this is about n / p (1 + 1 / c): the classic 2 n / p of regular sampling for c = 1, and 1.06 n / p for c
// = 16.
#pragma once

#include "exchange/local_sort.hpp"
#include "exchange/share.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace weft {

struct Sampling {
    Share share;

    /// Samples requested from a rank: 16 p for small p, and at least p. Rank 0 sorts p times as many: 16 bytes x 16
    /// p^2 are 1 MiB at p = 64, 5 MiB at p = 288, 16 MiB at p = 1024, and 16 p^2 bytes from there on.
    [[nodiscard]] constexpr std::uint64_t asked() const {
        return std::max(share.p(), std::min<std::uint64_t>(16 * share.p(), 1024));
    }
    [[nodiscard]] constexpr std::uint64_t width() const {
        return std::max<std::uint64_t>(1, share.largest() / asked() + (share.largest() % asked() != 0 ? 1 : 0));
    }
    [[nodiscard]] constexpr std::uint64_t count(int rank) const { return share.count(rank) / width(); }
    [[nodiscard]] constexpr std::uint64_t total() const {
        auto const longer = share.n % share.p();
        return longer * (share.largest() / width()) + (share.p() - longer) * ((share.n / share.p()) / width());
    }
    /// The most vectors that any rank can receive, for any keys.
    [[nodiscard]] constexpr std::uint64_t receive_bound() const {
        auto const most_samples = total() / share.p() + (total() % share.p() != 0 ? 1 : 0);
        return std::min(share.n, width() * most_samples + share.p() * (width() - 1));
    }
};

/// A boundary between two ranks' shares: all vectors before (key, place) go to the lower ranks.
using Splitter = KeyPlace;

/// Copies the samples of `rank` out of its sorted vectors; `out` holds sampling.count(rank).
void take_samples(Sampling const &sampling, int rank, ConstVectors sorted, std::span<KeyPlace> out);

/// Sorts all samples and divides them into p equal parts; `splitters` has p - 1 entries.
void choose_splitters(std::span<KeyPlace> samples, std::span<Splitter> splitters);

/// Number of sorted vectors before the splitter; `first` is the global position of vector 0.
[[nodiscard]] std::uint64_t vectors_before(Splitter const &splitter, ConstVectors sorted, std::uint64_t first);

/// Start of each rank's block: p + 1 entries, the last one is sorted.count.
void find_blocks(std::span<Splitter const> splitters, ConstVectors sorted, std::uint64_t first,
                 std::span<std::uint64_t> begins);

} // namespace weft
