// SPDX-License-Identifier: BSD-3-Clause
#include "host/memory.hpp"

#include "host/platform.hpp"
#include "mpi/agree.hpp"

#include <algorithm>
#include <limits>

namespace weft {

namespace {

/// The lowest rank with the largest value.
int rank_of_largest(Team const &team, std::int64_t value) {
    std::int64_t const largest = max_over(team, value);
    return int(min_over(team, value == largest ? team.rank : std::numeric_limits<std::int32_t>::max()));
}

/// Total need of the ranks on this rank's node, in bytes, as a double: exact below 2^53, and no overflow above.
double sum_of_node(Team const &team, std::int64_t need) {
    double sum = double(need);
    if (!team.back) {
        check(PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, team.node_comm), "MPI_Allreduce of needs");
        return sum;
    }
    sum = 0;
    std::vector<std::string> const needs = all_texts(team, std::to_string(need));
    for (std::size_t rank = 0; rank < needs.size(); ++rank) {
        sum += team.node_of[rank] == team.node ? double(std::stoll(needs[rank])) : 0;
    }
    return sum;
}

std::string bytes(std::int64_t count) {
    return std::to_string(count) + " bytes";
}

} // namespace

std::int64_t Need::total() const {
    std::int64_t sum = 0;
    for (Part const &part : parts) {
        // A plan can ask for more than 2^63 bytes; the sum must not overflow.
        sum = part.bytes > std::numeric_limits<std::int64_t>::max() - sum ? std::numeric_limits<std::int64_t>::max()
                                                                          : sum + part.bytes;
    }
    return sum;
}

std::string Need::formula() const {
    std::string text;
    for (Part const &part : parts) {
        text += (text.empty() ? "" : " + ") + part.name + " " + std::to_string(part.bytes);
    }
    return text + " = " + bytes(total()) + " a rank";
}

Verdict guard_memory(Team const &team, Need const &mine, std::int64_t limit_bytes) {
    platform::Memory const left = platform::memory();
    std::int64_t const need = mine.total();
    double const node_sum = sum_of_node(team, need);
    std::int64_t const node_need =
        node_sum < 0x1p62 ? std::int64_t(node_sum) : std::numeric_limits<std::int64_t>::max();
    bool const scheduler_is_tighter = limit_bytes > 0 && limit_bytes < left.node_bytes;
    std::int64_t const node_left = scheduler_is_tighter ? limit_bytes : left.node_bytes;

    int const neediest = rank_of_largest(team, need);
    // Node and process limits on one scale: the excess over the limit.
    std::int64_t const over_node = node_need - node_left;
    std::int64_t const over_process = need - left.process_bytes;
    int const worst = rank_of_largest(team, std::max(over_node, over_process));

    std::string reason;
    if (over_process > 0 && over_process >= over_node) {
        reason = "rank " + std::to_string(team.rank) + " needs " + bytes(need) + " but RLIMIT_AS leaves it " +
                 bytes(left.process_bytes) + "; raise `ulimit -v`, or ask for less n or m";
    } else if (over_node > 0) {
        reason = "node " + team.hosts[std::size_t(team.node)] + " needs " + bytes(node_need) + " for its " +
                 std::to_string(team.local_size) + " ranks but has " + bytes(node_left) + " (" +
                 (scheduler_is_tighter ? "limit of the plan" : left.node_source) +
                 "); ask for less n or m, fewer ranks a node, or more nodes";
    }
    Verdict verdict;
    verdict.need_rank_bytes = value_of(team, need, neediest);
    verdict.formula = text_of(team, mine.formula(), neediest);
    verdict.need_node_bytes = value_of(team, node_need, worst);
    verdict.available_node_bytes = value_of(team, node_left, worst);
    verdict.reason = text_of(team, reason, worst);
    verdict.fits = verdict.reason.empty();
    return verdict;
}

} // namespace weft
