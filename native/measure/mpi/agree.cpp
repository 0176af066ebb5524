// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/agree.hpp"

#include "mpi/count.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>

namespace weft {

namespace {

std::int64_t number(std::string const &text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Reduces the numbers of all ranks on rank 0, and returns the result on all ranks.
template <class Combine> std::int64_t combined(BackChannel &back, std::int64_t mine, Combine &&combine) {
    std::int64_t result = mine;
    std::vector<std::string> const all = back.gather(std::to_string(mine));
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        result = combine(result, number(all[rank]));
    }
    return number(back.spread(std::to_string(result)));
}

/// Concatenates texts, each preceded by its length.
std::string joined(std::vector<std::string> const &texts) {
    std::string all;
    for (std::string const &text : texts) {
        all += std::to_string(text.size()) + " " + text;
    }
    return all;
}

std::vector<std::string> parted(std::string const &all) {
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < all.size();) {
        std::size_t const space = all.find(' ', at);
        auto const length = std::size_t(number(all.substr(at, space - at)));
        texts.push_back(all.substr(space + 1, length));
        at = space + 1 + length;
    }
    return texts;
}

std::vector<std::string> gathered_by_mpi(Team const &team, std::string const &mine) {
    to_count(std::uint64_t(sum_over(team.comm, std::int64_t(mine.size()))), "bytes of the ranks' texts");
    int const length = to_count(mine.size(), "bytes of a rank's text");
    std::vector<int> lengths(team.rank == 0 ? std::size_t(team.size) : 0);
    check(PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, team.comm), "MPI_Gather of lengths");
    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string all(lengths.empty() ? 0 : std::size_t(offsets.back()) + std::size_t(lengths.back()), ' ');
    check(
        PMPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, team.comm),
        "MPI_Gatherv of texts");
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
        texts.push_back(all.substr(std::size_t(offsets[rank]), std::size_t(lengths[rank])));
    }
    return texts;
}

/// Size of a text in an exchange of texts of fixed size, with its end mark.
constexpr std::size_t short_bytes = 192;
using ShortText = std::array<char, short_bytes>;

ShortText to_short(std::string const &text) {
    ShortText cut{};
    std::copy_n(text.begin(), std::min(text.size(), short_bytes - 1), cut.begin());
    return cut;
}

} // namespace

std::int64_t max_over(Team const &team, std::int64_t mine) {
    return team.back ? combined(*team.back, mine, [](auto a, auto b) { return std::max(a, b); })
                     : max_over(team.comm, mine);
}

std::int64_t min_over(Team const &team, std::int64_t mine) {
    return team.back ? combined(*team.back, mine, [](auto a, auto b) { return std::min(a, b); })
                     : min_over(team.comm, mine);
}

std::int64_t sum_over(Team const &team, std::int64_t mine) {
    return team.back ? combined(*team.back, mine, std::plus<std::int64_t>()) : sum_over(team.comm, mine);
}

std::string text_of(Team const &team, std::string text, int from) {
    if (team.back) {
        if (from == 0) {
            return team.back->spread(text);
        }
        std::vector<std::string> const all = team.back->gather(team.rank == from ? text : "");
        return team.back->spread(team.rank == 0 ? all[std::size_t(from)] : "");
    }
    std::int64_t length = std::int64_t(text.size());
    check(PMPI_Bcast(&length, 1, MPI_INT64_T, from, team.comm), "MPI_Bcast of a text's length");
    text.resize(std::size_t(length));
    check(PMPI_Bcast(text.data(), to_count(std::uint64_t(length), "bytes of a text"), MPI_CHAR, from, team.comm),
          "MPI_Bcast of a text");
    return text;
}

std::int64_t value_of(Team const &team, std::int64_t value, int from) {
    if (team.back) {
        return number(text_of(team, std::to_string(value), from));
    }
    check(PMPI_Bcast(&value, 1, MPI_INT64_T, from, team.comm), "MPI_Bcast of a value");
    return value;
}

std::vector<std::string> texts_on_rank_0(Team const &team, std::string const &mine) {
    return team.back ? team.back->gather(mine) : gathered_by_mpi(team, mine);
}

std::vector<std::string> all_texts(Team const &team, std::string const &mine) {
    ShortText const cut = to_short(mine);
    if (team.back) {
        return parted(text_of(team, joined(team.back->gather(cut.data()))));
    }
    std::vector<ShortText> all(std::size_t(team.size));
    check(PMPI_Allgather(cut.data(), short_bytes, MPI_CHAR, all.data(), short_bytes, MPI_CHAR, team.comm),
          "MPI_Allgather of short texts");
    std::vector<std::string> texts;
    for (ShortText const &text : all) {
        texts.emplace_back(text.data());
    }
    return texts;
}

} // namespace weft
