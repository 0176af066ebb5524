// SPDX-License-Identifier: BSD-3-Clause
#include "common/json_value.hpp"

#include "common/crc32.hpp"
#include "common/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>

namespace weft::json {

namespace {

constexpr int deepest = 32;
constexpr std::size_t longest_shown = 80;

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Value whole() {
        Value made = value(0);
        skip();
        if (at_ != text_.size()) {
            refuse("something follows the end");
        }
        return made;
    }

  private:
    [[noreturn]] void refuse(std::string const &what) const {
        auto const line = 1 + std::count(text_.begin(), text_.begin() + std::ptrdiff_t(at_), '\n');
        throw std::runtime_error("line " + std::to_string(line) + ": " + what);
    }

    void skip() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }

    bool take(char wanted) {
        skip();
        if (at_ < text_.size() && text_[at_] == wanted) {
            ++at_;
            return true;
        }
        return false;
    }

    void need(char wanted) {
        if (!take(wanted)) {
            refuse(std::string("\"") + wanted + "\" is missing");
        }
    }

    bool word(std::string_view wanted) {
        if (text_.substr(at_, wanted.size()) != wanted) {
            return false;
        }
        at_ += wanted.size();
        return true;
    }

    Value value(int depth) {
        if (depth > deepest) {
            refuse("too many brackets within each other");
        }
        if (take('{')) {
            return object(depth);
        }
        if (take('[')) {
            return array(depth);
        }
        if (take('"')) {
            return {string()};
        }
        if (word("true")) {
            return {true};
        }
        if (word("false")) {
            return {false};
        }
        return word("null") ? Value{nullptr} : Value{number()};
    }

    Value object(int depth) {
        Object made;
        while (!take('}')) {
            if (!made.empty()) {
                need(',');
            }
            need('"');
            std::string key = string();
            need(':');
            if (!made.emplace(key, value(depth + 1)).second) {
                refuse(json_string(key.substr(0, longest_shown)) + " stands twice in one object");
            }
        }
        return {std::move(made)};
    }

    Value array(int depth) {
        Array made;
        while (!take(']')) {
            if (!made.empty()) {
                need(',');
            }
            made.push_back(value(depth + 1));
        }
        return {std::move(made)};
    }

    /// The rest of a string. An escaped Unicode character is kept as written: nothing here compares one.
    std::string string() {
        std::string made;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\n') {
                break;
            }
            if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
                std::string_view("\"\\/").find(text_[at_ + 1]) != std::string_view::npos) {
                ++at_;
            }
            made += text_[at_];
        }
        if (!word("\"")) {
            refuse("a string does not end");
        }
        return made;
    }

    double number() {
        double made = 0;
        auto const [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), made);
        if (error != std::errc() || !std::isfinite(made)) { // it reads "nan" and "inf", which JSON does not have
            refuse("no value");
        }
        at_ = std::size_t(end - text_.data());
        return made;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

Value parse(std::string_view text) {
    return Parser(text).whole();
}

bool is_damaged(std::string_view text) {
    std::size_t const entry = text.rfind("\"record_crc32\""), comma = text.rfind(',', entry);
    std::size_t const digits = text.find_first_of("0123456789", entry == text.npos ? entry : text.find(':', entry));
    if (entry == text.npos || comma == text.npos || digits == text.npos || text.find('}', digits) == text.npos) {
        return false;
    }
    std::uint32_t noted = 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), noted);
    return noted != crc32(std::as_bytes(std::span(text.substr(0, comma))));
}

} // namespace weft::json
