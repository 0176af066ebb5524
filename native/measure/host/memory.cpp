// SPDX-License-Identifier: BSD-3-Clause
#include "host/memory.hpp"

#include "host/platform.hpp"

#include <algorithm>
#include <limits>

namespace weft {

namespace {

/// Collective: broadcasts the text of rank `from`.
std::string share(MPI_Comm comm, int from, std::string text) {
    std::int64_t length = std::int64_t(text.size());
    check(PMPI_Bcast(&length, 1, MPI_INT64_T, from, comm), "MPI_Bcast of a text's length");
    text.resize(std::size_t(length));
    check(PMPI_Bcast(text.data(), int(length), MPI_CHAR, from, comm), "MPI_Bcast of a text");
    return text;
}

/// The lowest rank with the largest value.
int rank_of_largest(MPI_Comm comm, int rank, std::int64_t value) {
    std::int64_t const largest = max_over(comm, value);
    return int(min_over(comm, value == largest ? rank : std::numeric_limits<std::int32_t>::max()));
}

std::int64_t value_of(MPI_Comm comm, int rank, std::int64_t value) {
    check(PMPI_Bcast(&value, 1, MPI_INT64_T, rank, comm), "MPI_Bcast of a value");
    return value;
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
    // Summed as doubles: exact below 2^53 bytes, and no overflow above.
    double node_sum = double(need);
    check(PMPI_Allreduce(MPI_IN_PLACE, &node_sum, 1, MPI_DOUBLE, MPI_SUM, team.node_comm), "MPI_Allreduce of needs");
    std::int64_t const node_need =
        node_sum < 0x1p62 ? std::int64_t(node_sum) : std::numeric_limits<std::int64_t>::max();
    bool const scheduler_is_tighter = limit_bytes > 0 && limit_bytes < left.node_bytes;
    std::int64_t const node_left = scheduler_is_tighter ? limit_bytes : left.node_bytes;

    int const neediest = rank_of_largest(team.comm, team.rank, need);
    // Node and process limits on one scale: the excess over the limit.
    std::int64_t const over_node = node_need - node_left;
    std::int64_t const over_process = need - left.process_bytes;
    int const worst = rank_of_largest(team.comm, team.rank, std::max(over_node, over_process));

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
    verdict.need_rank_bytes = value_of(team.comm, neediest, need);
    verdict.formula = share(team.comm, neediest, mine.formula());
    verdict.need_node_bytes = value_of(team.comm, worst, node_need);
    verdict.available_node_bytes = value_of(team.comm, worst, node_left);
    verdict.reason = share(team.comm, worst, reason);
    verdict.fits = verdict.reason.empty();
    return verdict;
}

} // namespace weft
