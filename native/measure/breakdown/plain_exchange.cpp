// SPDX-License-Identifier: BSD-3-Clause
#include "breakdown/plain_exchange.hpp"

#include "common/check.hpp"
#include "mpi/count.hpp"

#include <algorithm>
#include <array>
#include <climits>

namespace weft {

namespace {

constexpr int plain_tag = 23;
constexpr std::size_t in_flight = 8; // peers of between(): many at once would meet in the links of one rank
constexpr char const *elements = "elements of a block";

/// All ranks in an order that alternates nodes: the first of every node, the second of every node, ...
std::vector<int> node_by_node(Team const &team) {
    std::vector<std::vector<int>> of_node(std::size_t(team.nodes));
    for (int rank = 0; rank < team.size; ++rank) {
        of_node[std::size_t(team.node_of[std::size_t(rank)])].push_back(rank);
    }
    std::vector<int> order;
    for (std::size_t place = 0; order.size() < std::size_t(team.size); ++place) {
        for (auto const &ranks : of_node) {
            if (place < ranks.size()) {
                order.push_back(ranks[place]);
            }
        }
    }
    return order;
}

} // namespace

PlainExchange::PlainExchange(Team const &team, PeerBlocks const &blocks)
    : team_(team), blocks_(blocks), turns_(node_by_node(team)) {
    std::vector<int> counts(std::size_t(team.nodes));
    for (int rank = 0; rank < team.size; ++rank) {
        int const node = team.node_of[std::size_t(rank)];
        most_local_ = std::max(most_local_, ++counts[std::size_t(node)]);
        if (node == team.node) {
            local_.push_back(rank);
        }
    }
}

void PlainExchange::exchange(Block const &to, int target, Block const &from, int source) {
#if MPI_VERSION >= 4
    if (std::max(to.count, from.count) > INT_MAX) {
        check(MPI_Sendrecv_c(to.data, to.count, blocks_.type, target, plain_tag, from.data, from.count, blocks_.type,
                             source, plain_tag, team_.comm, MPI_STATUS_IGNORE),
              "MPI_Sendrecv_c");
        return;
    }
#endif
    check(MPI_Sendrecv(to.data, to_count(std::uint64_t(to.count), elements), blocks_.type, target, plain_tag, from.data,
                       to_count(std::uint64_t(from.count), elements), blocks_.type, source, plain_tag, team_.comm,
                       MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
}

/// Begins to exchange the blocks of another rank.
void PlainExchange::post(int other, std::span<MPI_Request, 2> requests) {
    Block const &from = blocks_.receive[std::size_t(other)];
    Block const &to = blocks_.send[std::size_t(other)];
#if MPI_VERSION >= 4
    if (std::max(to.count, from.count) > INT_MAX) {
        check(MPI_Irecv_c(from.data, from.count, blocks_.type, other, plain_tag, team_.comm, &requests[0]),
              "MPI_Irecv_c");
        check(MPI_Isend_c(to.data, to.count, blocks_.type, other, plain_tag, team_.comm, &requests[1]), "MPI_Isend_c");
        return;
    }
#endif
    check(MPI_Irecv(from.data, to_count(std::uint64_t(from.count), elements), blocks_.type, other, plain_tag,
                    team_.comm, &requests[0]),
          "MPI_Irecv");
    check(MPI_Isend(to.data, to_count(std::uint64_t(to.count), elements), blocks_.type, other, plain_tag, team_.comm,
                    &requests[1]),
          "MPI_Isend");
}

void PlainExchange::within() {
    if (blocks_.keeps_own) {
        exchange_with(team_.rank, team_.rank);
    }
    auto const own = std::size_t(std::find(local_.begin(), local_.end(), team_.rank) - local_.begin());
    std::size_t const count = local_.size();
    int const right = local_[(own + 1) % count];
    int const left = local_[(own + count - 1) % count];
    for (std::size_t d = 1; d < count; ++d) {
        int const target = local_[(own + d) % count];
        int const source = local_[(own + count - d) % count];
        if (blocks_.equal) {
            exchange(blocks_.send[std::size_t(target)], right, blocks_.receive[std::size_t(source)], left);
        } else {
            exchange_with(target, source);
        }
    }
}

void PlainExchange::between() {
    int const active = turns_[turn_];
    turn_ = (turn_ + 1) % turns_.size();
    auto const node_of = [&](int rank) { return team_.node_of[std::size_t(rank)]; };
    if (team_.rank != active) {
        if (node_of(active) != team_.node) {
            exchange_with(active, active);
        }
        return;
    }
    std::array<std::array<MPI_Request, 2>, in_flight> open;
    open.fill({MPI_REQUEST_NULL, MPI_REQUEST_NULL});
    auto const wait = [](std::array<MPI_Request, 2> &requests) {
        check(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    };
    std::size_t begun = 0;
    for (int d = 1; d < team_.size; ++d) {
        int const other = (active + d) % team_.size;
        if (node_of(other) != team_.node) {
            auto &requests = open[begun++ % in_flight];
            wait(requests);
            post(other, requests);
        }
    }
    std::for_each(open.begin(), open.end(), wait);
}

void PlainExchange::shift(Clock const &clock, std::span<std::int64_t> ends) {
    int const p = team_.size;
    for (int d = 0; d < p; ++d) {
        if (d > 0 || blocks_.keeps_own) {
            exchange_with((team_.rank + d) % p, (team_.rank + p - d) % p);
        }
        if (!ends.empty()) {
            ends[std::size_t(d)] = clock.now();
        }
    }
}

void PlainExchange::pairwise() {
    for (int d = blocks_.keeps_own ? 0 : 1; d < team_.size; ++d) {
        exchange_with(team_.rank ^ d, team_.rank ^ d);
    }
}

} // namespace weft
