// SPDX-License-Identifier: BSD-3-Clause
#include "interference/traffic.hpp"

#include "common/check.hpp"
#include "mpi/message.hpp"

#include <algorithm>

namespace weft {

namespace {

constexpr int traffic_tag = 3;
constexpr std::int64_t slots = 2; // bursts under way: the next is posted before the last has ended

Failure unknown(std::string_view word) {
    return {"unknown traffic `" + std::string(word) + "`", "use alltoall, incast, shift, bcast or stream", true};
}

std::vector<TrafficKind> kinds_of(Cell const &cell) {
    std::vector<TrafficKind> kinds;
    for (std::string const &word : cell.words("traffic")) {
        kinds.emplace_back(word);
    }
    return kinds;
}

} // namespace

TrafficKind::TrafficKind(std::string const &word) : pattern(word.substr(0, word.find('.'))) {
    if (auto const dot = word.find('.'); dot != std::string::npos) {
        percent = to_integer(std::string_view(word).substr(dot + 1), "traffic");
    }
    if (percent < 1 || percent > 100) {
        throw unknown(word);
    }
}

PeersOf::PeersOf(std::string_view pattern, int rank, int size) {
    int const half = size / 2;
    auto const others = [&](std::vector<int> &peers) {
        for (int d = 1; d < size; ++d) {
            peers.push_back((rank + d) % size);
        }
    };
    if (pattern == "alltoall") {
        others(to);
        from.assign(to.rbegin(), to.rend());
    } else if (pattern == "incast" || pattern == "bcast") {
        bool const gathers = pattern == "incast";
        if (rank == 0) {
            others(gathers ? from : to);
        } else {
            (gathers ? to : from).push_back(0);
        }
    } else if (pattern == "shift") {
        if (half > 0) {
            to.push_back((rank + half) % size);
            from.push_back((rank + size - half) % size);
        }
    } else if (pattern == "stream") {
        if (rank < half) {
            to.push_back(rank + half);
        } else if (rank < 2 * half) {
            from.push_back(rank - half);
        }
    } else {
        throw unknown(pattern);
    }
}

std::int64_t Traffic::need(Cell const &cell, int ranks) {
    std::int64_t const bytes = cell.integer("traffic_bytes");
    return bytes + slots * std::max(ranks - 1, 1) * cell.integer("burst") * bytes;
}

Traffic::Traffic(Cell const &cell)
    : team_(cell.team()), launch_(cell.launch()), commander_(int(to_integer(cell.words("members").at(0), "members"))),
      kinds_(kinds_of(cell)), bytes_(cell.integer("traffic_bytes")), burst_(cell.integer("burst")),
      send_(Buffer::make(team_, std::size_t(bytes_), "traffic sent")),
      receive_(Buffer::make(team_, std::size_t(need(cell, team_.size) - bytes_), "traffic received")) {}

bool Traffic::serve() {
    int there = 0;
    check(PMPI_Iprobe(commander_, order::tag, launch_, &there, MPI_STATUS_IGNORE), "MPI_Iprobe of an order");
    if (there == 0) {
        return false;
    }
    int number = 0;
    check(PMPI_Recv(&number, 1, MPI_INT, commander_, order::tag, launch_, MPI_STATUS_IGNORE), "MPI_Recv of an order");
    run(kinds_.at(std::size_t(number)));
    return true;
}

bool Traffic::stop_came() const {
    int there = 0;
    check(PMPI_Iprobe(commander_, order::stop_tag, launch_, &there, MPI_STATUS_IGNORE), "MPI_Iprobe of a stop");
    return there != 0;
}

/// Collective: all ranks are as far as this, which the first of them tells.
void Traffic::answer() const {
    check(PMPI_Barrier(team_.comm), "MPI_Barrier of traffic");
    if (team_.rank == 0) {
        check(PMPI_Send(nullptr, 0, MPI_INT, commander_, order::answer_tag, launch_), "MPI_Send of an answer");
    }
}

void Traffic::post(PeersOf const &peers, std::vector<MPI_Request> &requests, std::size_t slot) {
    std::byte *place = receive_.data() + std::int64_t(slot) * (std::int64_t(receive_.bytes()) / slots);
    requests.clear();
    for (std::int64_t k = 0; k < burst_; ++k) {
        for (int const peer : peers.from) {
            requests.push_back(MPI_REQUEST_NULL);
            check(start_receiving(place, bytes_, peer, traffic_tag, team_.comm, &requests.back()), "MPI_Irecv");
            place += bytes_;
        }
    }
    for (std::int64_t k = 0; k < burst_; ++k) {
        for (int const peer : peers.to) {
            requests.push_back(MPI_REQUEST_NULL);
            check(start_sending(send_.data(), bytes_, peer, traffic_tag, team_.comm, &requests.back()), "MPI_Isend");
        }
    }
}

/// Bursts back to back, no rank more than two ahead of another. A word of all ranks lies behind the messages that are
/// under way: whether burst k is made is therefore decided when burst k - 2 begins, so that nobody waits for it between
/// two bursts.
void Traffic::run(TrafficKind const &kind) {
    PeersOf const peers(kind.pattern, team_.rank, team_.size);
    std::array<std::vector<MPI_Request>, slots> under_way;
    std::array<int, slots> goes_on{1, 1};
    std::array<MPI_Request, slots> told{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    auto const finish = [&](std::size_t slot) {
        check(MPI_Waitall(int(under_way[slot].size()), under_way[slot].data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    };
    for (std::int64_t k = 0;; ++k) {
        auto const slot = std::size_t(k % slots);
        std::int64_t const began = platform::now_ns();
        finish(slot);
        check(PMPI_Wait(&told[slot], MPI_STATUS_IGNORE), "MPI_Wait of a decision");
        if (goes_on[slot] == 0) {
            break;
        }
        goes_on[slot] = team_.rank == 0 && stop_came() ? 0 : 1;
        check(PMPI_Iallreduce(MPI_IN_PLACE, &goes_on[slot], 1, MPI_INT, MPI_MIN, team_.comm, &told[slot]),
              "MPI_Iallreduce of a decision");
        post(peers, under_way[slot], slot);
        if (kind.percent < 100) {
            finish(slot);
            std::int64_t const lasted = std::max<std::int64_t>(platform::now_ns() - began, 1'000);
            platform::sleep_ns(lasted * (100 - kind.percent) / kind.percent);
        }
        if (k == 1) {
            answer();
        }
    }
    for (std::size_t slot = 0; slot < std::size_t(slots); ++slot) {
        finish(slot);
        check(PMPI_Wait(&told[slot], MPI_STATUS_IGNORE), "MPI_Wait of a decision");
    }
    if (team_.rank == 0) {
        check(PMPI_Recv(nullptr, 0, MPI_INT, commander_, order::stop_tag, launch_, MPI_STATUS_IGNORE),
              "MPI_Recv of a stop");
    }
    answer();
}

} // namespace weft
