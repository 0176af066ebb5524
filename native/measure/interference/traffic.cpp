// SPDX-License-Identifier: BSD-3-Clause
#include "interference/traffic.hpp"

#include "common/check.hpp"
#include "mpi/message.hpp"

#include <algorithm>

namespace weft {

namespace {

constexpr int traffic_tag = 3;
constexpr int last_tag = 4;
constexpr std::int64_t slots = 2; // bursts under way: the next is posted before the last has ended
constexpr std::int64_t nap_ns = 20'000;
constexpr std::int64_t record_bytes = 512; // of a message under way: its request and status, and the library's own

/// Messages that one of so many ranks receives at a time.
std::int64_t most_under_way(int ranks, std::int64_t burst) {
    return slots * std::max(ranks - 1, 1) * burst;
}

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

/// Messages to and from each peer until a stop. No pair of ranks waits for another pair, so that each takes its share
/// of the cables all the time. A message with `last_tag` ends the receive that it meets, and each peer gets as many as
/// it has receives.
class Streams {
  public:
    struct Messages {
        std::int64_t bytes;
        std::int64_t ahead; ///< receives from each peer, and most messages under way to each
        std::byte const *send;
        std::byte *receive;
    };

    Streams(Team const &team, PeersOf peers, Messages const &messages)
        : team_(team), peers_(std::move(peers)), messages_(messages), receives_(count_of(peers_.from)),
          sends_(count_of(peers_.to)), requests_(receives_ + sends_ + 2, MPI_REQUEST_NULL), places_(requests_.size()),
          statuses_(requests_.size()) {
        for (std::size_t k = 0; k < receives_; ++k) {
            receive(k);
        }
    }

    MPI_Request &stop() { return requests_[receives_ + sends_]; }
    MPI_Request &ready() { return requests_[receives_ + sends_ + 1]; }
    [[nodiscard]] bool sends_none() const { return sending_ == 0; }
    [[nodiscard]] bool has_targets() const { return sends_ > 0; }
    [[nodiscard]] bool is_full() const { return received_ >= receives_ && sent_ >= sends_; }
    [[nodiscard]] bool has_ended() const { return ended_ == receives_ && sending_ == 0; }

    /// The first messages to each peer; the number of them.
    void burst(std::int64_t to_each) {
        for (std::size_t k = 0; k < sends_; ++k) {
            if (std::int64_t(k) % messages_.ahead < to_each) {
                send(k);
            }
        }
    }

    void send_last() {
        for (std::size_t k = 0; k < sends_; ++k) {
            check(PMPI_Isend(nullptr, 0, MPI_BYTE, peer(peers_.to, k), last_tag, team_.comm, &requests_[receives_ + k]),
                  "MPI_Isend of the last");
            ++sending_;
        }
    }

    /// Makes again what has ended; sends only if `again`. Waits for something to end, or looks for it.
    void move(bool again, bool waits) {
        for (int i = 0, count = ended(waits); i < count; ++i) {
            auto const place = std::size_t(places_[std::size_t(i)]);
            if (place < receives_) {
                end_receive(place, statuses_[std::size_t(i)].MPI_TAG == last_tag);
            } else if (place < receives_ + sends_) {
                --sending_;
                ++sent_;
                if (again) {
                    send(place - receives_);
                }
            }
        }
    }

  private:
    [[nodiscard]] std::size_t count_of(std::vector<int> const &peers) const {
        return peers.size() * std::size_t(messages_.ahead);
    }
    [[nodiscard]] int peer(std::vector<int> const &peers, std::size_t k) const {
        return peers[k / std::size_t(messages_.ahead)];
    }
    /// How many have ended, now in `places_` and `statuses_`. One at a time where SMPI looks at each in turn.
    int ended(bool waits) {
        int const size = int(requests_.size());
        int count = 1;
        if (waits && platform::one_clock()) {
            check(MPI_Waitany(size, requests_.data(), places_.data(), statuses_.data()), "MPI_Waitany");
            return places_[0] == MPI_UNDEFINED ? 0 : 1;
        }
        auto *const how = waits ? MPI_Waitsome : MPI_Testsome;
        check(how(size, requests_.data(), &count, places_.data(), statuses_.data()), "MPI_Waitsome");
        return std::max(count, 0); // MPI_UNDEFINED without any
    }
    void receive(std::size_t k) {
        check(start_receiving(messages_.receive + std::int64_t(k) * messages_.bytes, messages_.bytes,
                              peer(peers_.from, k), MPI_ANY_TAG, team_.comm, &requests_[k]),
              "MPI_Irecv");
    }
    void end_receive(std::size_t k, bool last) {
        if (last) {
            ++ended_;
        } else {
            ++received_;
            receive(k);
        }
    }
    void send(std::size_t k) {
        // a real network holds up a sender of small messages, SMPI never does
        auto *const start = platform::one_clock() ? start_sending_together : start_sending;
        check(start(messages_.send, messages_.bytes, peer(peers_.to, k), traffic_tag, team_.comm,
                    &requests_[receives_ + k]),
              "MPI_Isend");
        ++sending_;
    }

    Team const &team_;
    PeersOf peers_;
    Messages messages_;
    std::size_t receives_, sends_; // places
    std::size_t sending_ = 0, sent_ = 0, received_ = 0, ended_ = 0;
    std::vector<MPI_Request> requests_; // receives, sends, the stop, the barrier of all that are ready
    std::vector<int> places_;
    std::vector<MPI_Status> statuses_;
};

/// After each burst, so long that bursts take a part of the time.
class Pauses {
  public:
    explicit Pauses(std::int64_t percent) : percent_(percent) {}

    [[nodiscard]] bool under_way() const { return until_ != 0; }

    /// Called when a burst has ended, until it returns true: then the next one begins. Sleeps a little.
    bool is_over() {
        std::int64_t const now = platform::now_ns();
        if (!under_way()) {
            until_ = now + std::max<std::int64_t>(now - began_, 1'000) * (100 - percent_) / percent_;
        }
        if (now < until_) {
            platform::sleep_ns(std::min(nap_ns, until_ - now));
            return false;
        }
        began_ = now;
        until_ = 0;
        return true;
    }

  private:
    std::int64_t percent_;
    std::int64_t began_ = platform::now_ns(); // of the burst
    std::int64_t until_ = 0;
};

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
    return bytes + most_under_way(ranks, cell.integer("burst")) * (bytes + 2 * record_bytes);
}

Traffic::Traffic(Cell const &cell)
    : team_(cell.team()), launch_(cell.launch()), commander_(int(to_integer(cell.words("members").at(0), "members"))),
      kinds_(kinds_of(cell)), bytes_(cell.integer("traffic_bytes")), burst_(cell.integer("burst")),
      send_(Buffer::make(team_, std::size_t(bytes_), "traffic sent")),
      receive_(Buffer::make(team_, std::size_t(most_under_way(team_.size, burst_) * bytes_), "traffic received")) {}

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

void Traffic::answer() const {
    if (team_.rank == 0) {
        check(PMPI_Send(nullptr, 0, MPI_INT, commander_, order::answer_tag, launch_), "MPI_Send of an answer");
    }
}

/// At 100 percent each message is followed by the next as soon as it has left; else a pause follows each burst.
void Traffic::run(TrafficKind const &kind) {
    Streams streams(team_, {kind.pattern, team_.rank, team_.size},
                    {bytes_, slots * burst_, send_.data(), receive_.data()});
    check(PMPI_Irecv(nullptr, 0, MPI_INT, commander_, order::stop_tag, launch_, &streams.stop()),
          "MPI_Irecv of a stop");
    Pauses pauses(kind.percent);
    bool const always = kind.percent == 100;
    bool full = false, answered = false, ends = false;
    auto const meet = [&] {
        if (!full && streams.is_full()) {
            check(PMPI_Ibarrier(team_.comm, &streams.ready()), "MPI_Ibarrier of traffic");
            full = true;
        }
    };
    streams.burst(always ? slots * burst_ : burst_);
    meet(); // a rank without peers
    while (!ends || !answered || !streams.has_ended()) {
        bool const stopped = streams.stop() == MPI_REQUEST_NULL;
        streams.move(always && !stopped, ends || !pauses.under_way());
        meet();
        if (full && !answered && streams.ready() == MPI_REQUEST_NULL) {
            answer();
            answered = true;
        }
        if (!ends && stopped && streams.sends_none()) {
            streams.send_last();
            ends = true;
        } else if (!stopped && !always && streams.sends_none() && streams.has_targets() && pauses.is_over()) {
            streams.burst(burst_);
        }
    }
    check(PMPI_Barrier(team_.comm), "MPI_Barrier of traffic");
    answer();
}

} // namespace weft
