// SPDX-License-Identifier: BSD-3-Clause
#include "floor/copy_way.hpp"

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weft {

namespace {

constexpr std::size_t piece_bytes = 262'144;     // what MPI libraries take at a time is of this order
constexpr std::size_t streamed_from = 1'048'576; // smaller copies stay in the caches

#ifdef __SSE2__
constexpr bool has_streams = true;

/// Whole cache lines past the caches, the rest as usual; `to` is aligned to 16 bytes.
void stream(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    constexpr std::size_t line = 64;
    std::size_t const whole = bytes / line * line;
    for (std::size_t at = 0; at < whole; at += line) {
        for (std::size_t word = at; word < at + line; word += sizeof(__m128i)) {
            auto const loaded = _mm_loadu_si128(reinterpret_cast<__m128i const *>(from + word));
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + word), loaded);
        }
    }
    std::memcpy(to + whole, from + whole, bytes - whole);
    _mm_sfence();
}
#else
constexpr bool has_streams = false;

void stream(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}
#endif

} // namespace

void CopyWay::copy(std::byte *to, std::byte const *from, std::size_t bytes) const noexcept {
    if (streams) {
        return stream(to, from, bytes);
    }
    std::size_t const each = piece > 0 ? piece : bytes;
    for (std::size_t at = 0; at < bytes; at += each) {
        std::memcpy(to + at, from + at, std::min(each, bytes - at));
    }
}

void fill_with_complement(std::span<std::byte> to, std::span<std::byte const> from) noexcept {
    std::uint64_t word = 0;
    std::size_t at = 0;
    for (; at + sizeof word <= to.size(); at += sizeof word) {
        std::memcpy(&word, from.data() + at, sizeof word);
        word = ~word;
        std::memcpy(to.data() + at, &word, sizeof word);
    }
    for (; at < to.size(); ++at) {
        to[at] = ~from[at];
    }
}

std::vector<CopyWay> copy_ways(std::size_t bytes) {
    std::vector<CopyWay> ways;
    if (has_streams && bytes >= streamed_from) {
        ways.push_back({.streams = true});
    }
    ways.push_back({});
    if (bytes > piece_bytes) {
        ways.push_back({.piece = piece_bytes});
    }
    return ways;
}

} // namespace weft
