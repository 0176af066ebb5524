// SPDX-License-Identifier: BSD-3-Clause
#include "json.hpp"

#include "error.hpp"
#include "texts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft::alltoall {

namespace {

constexpr int deepest = 32;

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
        throw Error(MPI_ERR_ARG, "weft: the selection table, line " + std::to_string(line) + ": " + what +
                                     " -> correct it, or leave WEFT_TABLE unset");
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
                refuse(alltoall::shown(key) + " stands twice in one object");
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

Value parse_json(std::string_view text) {
    return Parser(text).whole();
}

} // namespace weft::alltoall
