// SPDX-License-Identifier: BSD-3-Clause
#include "replay/counted.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

namespace weft {

namespace {

constexpr std::int64_t double_bytes = 8;
constexpr std::int64_t most_in_doubles = double_bytes * INT_MAX;

bool is_reduction(Action const &action) {
    return action.act == Act::reduce || action.act == Act::allreduce || action.act == Act::scan ||
           action.act == Act::exscan || (action.act == Act::reduce_scatter && action.value < 0);
}

bool has_parts(Action const &action) {
    bool const may = action.act == Act::gather || action.act == Act::scatter || action.act == Act::allgather ||
                     action.act == Act::reduce_scatter;
    return action.act == Act::alltoallv || (may && action.value >= 0);
}

bool are_parts_countable(Action const &action, Script const &script, int size) {
    auto const all = std::span(script.counts).subspan(std::size_t(action.value));
    auto const parts = all.first(std::size_t(action.act == Act::alltoallv ? 2 * size : size));
    std::int64_t const most = std::int64_t(unit_of(parts, action)) * INT_MAX;
    for (std::size_t first = 0; first < parts.size(); first += std::size_t(size)) {
        auto const one_way = parts.subspan(first, std::size_t(size));
        if (std::accumulate(one_way.begin(), one_way.end(), std::int64_t{0}) > most) {
            return false;
        }
    }
    return action.bytes <= most && action.received <= most;
}

bool is_countable(Action const &action, Script const &script, int size) {
    if (action.act == Act::compute || action.act == Act::wait || action.act == Act::barrier) {
        return true;
    }
    if (has_parts(action)) {
        return are_parts_countable(action, script, size);
    }
    if (is_reduction(action)) {
        return action.bytes <= (action.bytes % double_bytes == 0 ? most_in_doubles : INT_MAX);
    }
    return std::max(action.bytes, action.received) <= most_in_doubles;
}

} // namespace

Counted::Counted(std::int64_t bytes)
    : count(int(bytes <= INT_MAX ? bytes : (bytes + double_bytes - 1) / double_bytes)),
      type(bytes <= INT_MAX ? MPI_BYTE : MPI_DOUBLE) {}

Reduced::Reduced(std::int64_t bytes)
    : count(int(bytes % double_bytes == 0 ? bytes / double_bytes : bytes)),
      type(bytes % double_bytes == 0 ? MPI_DOUBLE : MPI_BYTE), op(bytes % double_bytes == 0 ? MPI_SUM : MPI_BOR) {}

int unit_of(std::span<std::int64_t const> parts, Action const &action) {
    std::int64_t sum = action.bytes + action.received;
    bool whole = action.bytes % double_bytes == 0 && action.received % double_bytes == 0;
    for (std::int64_t const bytes : parts) {
        sum += bytes;
        whole = whole && bytes % double_bytes == 0;
    }
    return sum > INT_MAX && whole ? int(double_bytes) : 1;
}

MPI_Datatype type_of(int unit) {
    return unit == 1 ? MPI_BYTE : MPI_UINT64_T;
}

void set_parts(std::span<std::int64_t const> bytes, int unit, std::vector<int> &counts, std::vector<int> &places) {
    counts.resize(bytes.size());
    places.resize(bytes.size());
    std::int64_t place = 0;
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        counts[k] = int(bytes[k] / unit);
        places[k] = int(place);
        place += counts[k];
    }
}

std::optional<std::string> uncountable_action(Script const &script, std::vector<int> const &sizes) {
    for (std::size_t k = 0; k < script.actions.size(); ++k) {
        Action const &action = script.actions[k];
        int const size = action.comm < 0 ? 1 : sizes[std::size_t(action.comm)];
        if (!is_countable(action, script, size)) {
            return "action " + std::to_string(k) + " of the script gives " + std::to_string(action.bytes) +
                   " bytes and gets " + std::to_string(action.received) +
                   ", or parts whose sum an int does not count, not even in elements of 8 bytes: replay a trace of " +
                   "more ranks, or of a smaller problem";
        }
    }
    return std::nullopt;
}

} // namespace weft
