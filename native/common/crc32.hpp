// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// The CRC-32 of zip and of Python's zlib.crc32. `crc` is that of the preceding bytes.
inline std::uint32_t crc32(std::span<std::byte const> bytes, std::uint32_t crc = 0) {
    static constexpr auto table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value & 1) != 0 ? 0xedb88320U ^ (value >> 1) : value >> 1;
            }
            made[i] = value;
        }
        return made;
    }();
    crc = ~crc;
    for (std::byte const byte : bytes) {
        crc = table[(crc ^ std::uint32_t(byte)) & 0xff] ^ (crc >> 8);
    }
    return ~crc;
}

} // namespace weft
