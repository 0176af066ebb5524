// SPDX-License-Identifier: BSD-3-Clause
#include "common/json.hpp"

#include "common/crc32.hpp"

#include <array>
#include <span>

namespace weft {

namespace {

/// Length of the UTF-8 sequence at the start of `text`; 0 if there is none (RFC 3629: no overlong forms, no
/// surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    auto const follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    unsigned const first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return follows(1) ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        bool const overlong = first == 0xe0 && byte(1) < 0xa0;
        bool const surrogate = first == 0xed && byte(1) > 0x9f;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        bool const overlong = first == 0xf0 && byte(1) < 0x90;
        bool const too_large = first == 0xf4 && byte(1) > 0x8f;
        return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
    }
    return 0;
}

std::string escaped(char symbol) {
    constexpr std::string_view digits = "0123456789abcdef";
    switch (symbol) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    default:
        break;
    }
    auto const code = static_cast<unsigned char>(symbol);
    if (code < 0x20 || code == 0x7f) {
        return {'\\', 'u', '0', '0', digits[code >> 4U], digits[code & 0xfU]};
    }
    return {symbol};
}

} // namespace

std::string with_checksum(std::string_view object) {
    object.remove_suffix(1); // the bracket
    std::uint32_t const crc = crc32(std::as_bytes(std::span(object)));
    return std::string(object) + ",\"record_crc32\":" + std::to_string(crc) + "}\n";
}

std::string json_string(std::string_view text) {
    std::string result = "\"";
    while (!text.empty()) {
        std::size_t const length = utf8_length(text);
        if (length == 0) {
            result += "\\ufffd";
        } else if (length == 1) {
            result += escaped(text.front());
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result + "\"";
}

} // namespace weft
