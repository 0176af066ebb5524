// SPDX-License-Identifier: BSD-3-Clause
#include "floor/copy_way.hpp"

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__NVCOMPILER)
#define WEFT_X86_COPIES
#include <immintrin.h>
#endif

namespace weft {

namespace {

constexpr std::size_t page_bytes = 4096;      // datatype engines copy in pieces of this order
constexpr std::size_t piece_bytes = 262'144;  // what MPI libraries take from a shared segment at a time
constexpr std::size_t large_from = 1'048'576; // smaller copies stay in the caches of one core
constexpr std::size_t stride = 128;           // bytes of one turn of a loop: four registers

#ifdef WEFT_X86_COPIES
constexpr bool has_stores = true;

bool has_wide_registers() noexcept {
    return __builtin_cpu_supports("avx2");
}

/// What is left after whole strides.
void copy_end(std::byte *to, std::byte const *from, std::size_t whole, std::size_t bytes) noexcept {
    std::memcpy(to + whole, from + whole, bytes - whole);
}

/// Whole strides past the caches, the rest as usual; `to` is aligned to 32 bytes.
__attribute__((target("avx2"))) void stream_wide(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::size_t const whole = bytes / stride * stride;
    for (std::size_t at = 0; at < whole; at += stride) {
        auto const *const source = reinterpret_cast<__m256i const *>(from + at);
        auto *const target = reinterpret_cast<__m256i *>(to + at);
        __m256i const words[] = {_mm256_loadu_si256(source), _mm256_loadu_si256(source + 1),
                                 _mm256_loadu_si256(source + 2), _mm256_loadu_si256(source + 3)};
        for (int k = 0; k < 4; ++k) {
            _mm256_stream_si256(target + k, words[k]);
        }
    }
    copy_end(to, from, whole, bytes);
    _mm_sfence();
}

/// The same with the registers that every x86-64 has.
void stream(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    if (has_wide_registers()) {
        return stream_wide(to, from, bytes);
    }
    std::size_t const whole = bytes / stride * stride;
    for (std::size_t at = 0; at < whole; at += sizeof(__m128i)) {
        auto const loaded = _mm_loadu_si128(reinterpret_cast<__m128i const *>(from + at));
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at), loaded);
    }
    copy_end(to, from, whole, bytes);
    _mm_sfence();
}

/// From the last stride to the first: no load then waits for a store before it whose address ends in the same twelve
/// bits, as those of two buffers that begin at a page do.
__attribute__((target("avx2"))) void copy_backward(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::size_t const whole = bytes / stride * stride;
    copy_end(to, from, whole, bytes);
    for (std::size_t at = whole; at > 0;) {
        at -= stride;
        auto const *const source = reinterpret_cast<__m256i const *>(from + at);
        auto *const target = reinterpret_cast<__m256i *>(to + at);
        __m256i const words[] = {_mm256_loadu_si256(source), _mm256_loadu_si256(source + 1),
                                 _mm256_loadu_si256(source + 2), _mm256_loadu_si256(source + 3)};
        for (int k = 0; k < 4; ++k) {
            _mm256_storeu_si256(target + k, words[k]);
        }
    }
}

/// By the processor's own instruction for strings of bytes.
void copy_string(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#else
constexpr bool has_stores = false;

bool has_wide_registers() noexcept {
    return false;
}

void stream(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}

void copy_backward(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}

void copy_string(std::byte *to, std::byte const *from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}
#endif

} // namespace

std::string CopyWay::suffix() const {
    switch (by) {
    case By::streams:
        return "-streamed";
    case By::backward:
        return "-backward";
    case By::string:
        return "-string";
    case By::memcpy:
        break;
    }
    return piece > 0 ? "-in-" + std::to_string(piece) : "";
}

void CopyWay::copy(std::byte *to, std::byte const *from, std::size_t bytes) const noexcept {
    switch (by) {
    case By::streams:
        return stream(to, from, bytes);
    case By::backward:
        return copy_backward(to, from, bytes);
    case By::string:
        return copy_string(to, from, bytes);
    case By::memcpy:
        break;
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
    bool const large = bytes >= large_from;
    std::vector<CopyWay> ways;
    if (has_stores && large) {
        ways.push_back({.by = CopyWay::By::streams});
        ways.push_back({.by = CopyWay::By::string});
    }
    ways.push_back({});
    if (has_wide_registers()) {
        ways.push_back({.by = CopyWay::By::backward});
    }
    if (large) {
        ways.push_back({.piece = page_bytes});
    }
    if (bytes > piece_bytes) {
        ways.push_back({.piece = piece_bytes});
    }
    return ways;
}

int copy_tries(std::size_t bytes) noexcept {
    constexpr std::size_t tried = 16'777'216; // bytes; large copies differ by more than one disturbance does
    return int(std::clamp<std::size_t>(tried / bytes, 2, 30));
}

} // namespace weft
