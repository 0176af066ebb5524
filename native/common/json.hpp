// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// `text` as a JSON string with its quotes. Bytes that are not UTF-8 (host names, environment) become U+FFFD, so that
/// readers accept the file.
std::string json_string(std::string_view text);

/// The text of a JSON object that has members, with the CRC-32 of all before it as one more, and a line end: a record
/// that was damaged is told (src/weft/files/atomic.py reads it).
std::string with_checksum(std::string_view object);

/// Writes JSON sequentially, and adds the commas.
class Json {
  public:
    Json &begin_object() { return open('{'); }
    Json &end_object() { return close('}'); }
    Json &begin_array() { return open('['); }
    Json &end_array() { return close(']'); }

    Json &key(std::string_view name) {
        separate();
        text_ += json_string(name) + ":";
        fresh_ = true;
        return *this;
    }

    Json &value(std::string_view text) { return raw(json_string(text)); }
    Json &value(char const *text) { return value(std::string_view(text)); }
    Json &value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
    Json &value(std::integral auto number)
        requires(!std::same_as<decltype(number), bool>)
    {
        return raw(std::to_string(number));
    }
    Json &value(double number) {
        if (!std::isfinite(number)) {
            return raw("null"); // JSON has neither nan nor inf
        }
        char text[32];
        auto const end = std::to_chars(std::begin(text), std::end(text), number).ptr;
        return raw(std::string_view(text, std::size_t(end - text)));
    }
    /// Text that is JSON already.
    Json &raw(std::string_view json) {
        separate();
        text_ += json;
        return *this;
    }

    template <class Value> Json &member(std::string_view name, Value const &content) {
        return key(name).value(content);
    }

    std::string const &text() const noexcept { return text_; }

  private:
    void separate() {
        if (!fresh_) {
            text_ += ',';
        }
        fresh_ = false;
    }
    Json &open(char bracket) {
        separate();
        text_ += bracket;
        fresh_ = true;
        return *this;
    }
    Json &close(char bracket) {
        text_ += bracket;
        fresh_ = false;
        return *this;
    }

    std::string text_;
    bool fresh_ = true;
};

} // namespace weft
