// SPDX-License-Identifier: BSD-3-Clause
#include "sample/batch_book.hpp"

#include "sample/batch.hpp"

#include <sstream>

namespace weft {

namespace {

constexpr std::string_view book_version = "weft-batches 1";

} // namespace

std::optional<std::int64_t> BatchBook::of(std::string_view op) const {
    auto const found = calls_.find(op);
    return found == calls_.end() ? std::nullopt : std::optional(found->second);
}

void BatchBook::decide(std::string_view op, std::int64_t calls) {
    new_ = calls_.try_emplace(std::string(op), calls).second || new_;
}

std::string BatchBook::text(std::string_view owner) const {
    std::ostringstream text;
    text << book_version << '\n' << owner << '\n';
    for (auto const &[op, calls] : calls_) {
        text << op << ' ' << calls << '\n';
    }
    return text.str();
}

BatchBook BatchBook::parse(std::string_view text, std::string_view owner) {
    std::istringstream lines{std::string(text)};
    std::string first;
    std::string whose;
    std::getline(lines, first);
    std::getline(lines, whose);
    BatchBook book;
    if (first != book_version || whose != owner) {
        return book;
    }
    std::string op;
    std::int64_t calls = 0;
    while (lines >> op >> calls) {
        if (calls < 1 || calls > most_calls) {
            return {};
        }
        book.calls_.emplace(op, calls);
    }
    return lines.eof() ? book : BatchBook{};
}

} // namespace weft
