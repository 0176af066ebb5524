// SPDX-License-Identifier: BSD-3-Clause
#include "cell/cell.hpp"

#include "host/platform.hpp"
#include "mpi/agree.hpp"

#include <limits>
#include <sstream>

namespace weft {

namespace {

/// Collective: the text of the lowest rank that has one, on every rank.
std::optional<std::string> lowest_word(Team const &team, std::optional<std::string> const &mine) {
    constexpr std::int64_t none = std::numeric_limits<std::int32_t>::max();
    std::int64_t const speaker = min_over(team, mine ? team.rank : none);
    if (speaker == none) {
        return std::nullopt;
    }
    return text_of(team, mine.value_or(""), int(speaker));
}

} // namespace

bool Cell::has(std::string_view key) const {
    return values_.values.find(key) != values_.values.end();
}

std::string const &Cell::text(std::string_view key) const {
    auto const found = values_.values.find(key);
    if (found == values_.values.end()) {
        throw Failure("cell " + name() + " has no `" + std::string(key) + "`",
                      "the plan is of another version of weft: start the study again", true);
    }
    return found->second;
}

std::string Cell::text(std::string_view key, std::string_view otherwise) const {
    return has(key) ? text(key) : std::string(otherwise);
}

std::int64_t Cell::integer(std::string_view key) const {
    return to_integer(text(key), key);
}

std::int64_t Cell::integer(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? integer(key) : otherwise;
}

std::vector<std::string> Cell::words(std::string_view key) const {
    std::istringstream stream(text(key));
    std::vector<std::string> words;
    std::string word;
    while (stream >> word) {
        words.push_back(word);
    }
    return words;
}

void Cell::set_validation(std::int64_t errors, std::string const &detail) {
    validation_.performed = true;
    validation_.errors = sum_over(team_.comm, errors);
    validation_.detail = lowest_word(team_, errors > 0 ? std::optional(detail) : std::nullopt).value_or(detail);
}

void Cell::skip_validation(std::string reason) {
    validation_ = {false, 0, std::move(reason)};
}

void refuse_together(Team const &team, std::string const &status, std::optional<std::string> const &reason) {
    if (auto const word = lowest_word(team, reason)) {
        throw Refusal(status, *word);
    }
}

#ifdef WEFT_FAULTS
bool planted(Cell const &cell, std::string_view fault) {
    std::string const plant = platform::variable("WEFT_PLANT").value_or("");
    return plant == fault || plant == std::string(fault) + ":" + cell.name();
}
#endif

} // namespace weft
