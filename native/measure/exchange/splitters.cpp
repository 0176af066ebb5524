// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/splitters.hpp"

#include <limits>

namespace weft {

void take_samples(Sampling const &sampling, int rank, ConstVectors sorted, std::span<KeyPlace> out) {
    auto const width = sampling.width();
    auto const first = sampling.share.first(rank);
    for (std::uint64_t k = 0; k < sampling.count(rank); ++k) {
        auto const at = (k + 1) * width - 1;
        out[k] = {sorted.key(at), first + at};
    }
}

void choose_splitters(std::span<KeyPlace> samples, std::span<Splitter> splitters) {
    std::sort(samples.begin(), samples.end());
    auto const p = splitters.size() + 1;
    for (std::size_t j = 1; j < p; ++j) {
        // j T / p without overflow: T may be near p^2 x 16.
        auto const end = samples.size() / p * j + samples.size() % p * j / p;
        // Nothing precedes (-inf, place 0): the ranks below receive nothing.
        splitters[j - 1] = end == 0 ? Splitter{-std::numeric_limits<double>::infinity(), 0}
                                    : Splitter{samples[end - 1].key, samples[end - 1].place + 1};
    }
}

namespace {

/// The first of the sorted vectors for which `stays` is false; the keys are read in place, 64-bit throughout.
template <class Predicate> std::uint64_t partition_point(ConstVectors sorted, Predicate &&stays) {
    std::uint64_t low = 0;
    std::uint64_t high = sorted.count;
    while (low < high) {
        auto const middle = low + (high - low) / 2;
        if (stays(sorted.key(middle))) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

} // namespace

std::uint64_t vectors_before(Splitter const &splitter, ConstVectors sorted, std::uint64_t first) {
    auto const below = partition_point(sorted, [&](double key) { return key < splitter.key; });
    auto const through = partition_point(sorted, [&](double key) { return key <= splitter.key; });
    // Among equal keys [below, through) the position decides.
    auto const by_place = splitter.place > first ? splitter.place - first : 0;
    return std::clamp(by_place, below, through);
}

void find_blocks(std::span<Splitter const> splitters, ConstVectors sorted, std::uint64_t first,
                 std::span<std::uint64_t> begins) {
    begins[0] = 0;
    for (std::size_t j = 0; j < splitters.size(); ++j) {
        begins[j + 1] = vectors_before(splitters[j], sorted, first);
    }
    begins[splitters.size() + 1] = sorted.count;
}

} // namespace weft
