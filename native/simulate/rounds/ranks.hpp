// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a regular schedule: each is a place in its schedule and a count of messages, no thread or stack.
#pragma once

#include "calendar.hpp"
#include "flows.hpp"
#include "schedules.hpp"
#include "waiting.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::rounds {

struct Options {
    double eager_bytes = 0; // messages below leave their sender going
    double path_bytes = 0;
    double coarse = 0; // part of what a node's adapter takes for a round, within which messages end together
};

struct Times {
    double *begin_s, *end_s; // (calls, ranks)
};

class Ranks {
  public:
    // `slot`: of each rank, node * ranks-per-node + core. The spans must outlive the object.
    Ranks(simulate::Description const &net, std::span<std::int32_t const> slot, std::span<Call const> calls,
          Options const &options, Times times);

    // Runs all calls, each behind a barrier; throws std::runtime_error if ranks wait for ever.
    void run();
    std::int64_t messages() const { return sent_; }

  private:
    enum class Stage : std::uint8_t { settle, connect, meet, pay, post };
    struct Rank {
        std::vector<Act> acts;
        std::uint32_t act = 0;
        std::int32_t step = 0, call = 0; // calls alternate with barriers: 2 k is the barrier of call k
        std::int32_t under_way = 0;
        Stage stage = Stage::settle;
        bool waits = false, waits_for_all = false, done = false;
        std::int32_t waits_for = 0, waits_stages = 0; // receives of so many stages that it waits for
        double owed_bytes = 0, sent_bytes = 0;        // sent: of sends under way
        std::vector<std::int32_t> due;                // receives under way by stage
    };
    struct Message {
        std::int32_t from, to, path, stage;
        bool detached, arrived = false; // arrived: a receive; otherwise a send that waits
        double bytes;
        std::int32_t next = -1; // of the same two ranks
    };

    void go_on(std::int32_t rank);
    bool next_step(std::int32_t rank);
    bool act(std::int32_t rank, Act const &act);
    bool send(std::int32_t rank, Act const &act);
    bool connect(std::int32_t rank, std::int32_t peer);
    double cost_s(std::int32_t from, double bytes);
    bool has_room(Rank &rank, Act const &act);
    bool wait(Rank &rank, Act const &act);
    bool meet(std::int32_t rank, std::int32_t node);
    void post(std::int32_t rank, Act const &act);
    void start(std::int32_t message);
    void end(std::int32_t message);
    void count_up(Rank &rank, Act const &act, bool detached);
    void count_down(std::int32_t rank, Message const &message, Does end);
    void sleep(std::int32_t rank, double seconds) { calendar_.add(now_s_ + seconds, {Happens::wake, rank}); }
    bool copy(std::int32_t rank, double bytes);
    double together_s() const;
    std::int32_t new_message(Message const &message);
    void open_neighbours();
    std::size_t pair(std::int32_t a, std::int32_t b) const;
    Call const &call_of(Rank const &rank) const;
    Schedule const &schedule(Rank const &rank) const;

    simulate::Description const &net_;
    std::span<std::int32_t const> slot_;
    std::span<Call const> calls_;
    Options options_;
    Times times_;
    Calendar calendar_;
    Flows flows_;
    double now_s_ = 0;
    std::int64_t sent_ = 0;
    alltoall::Nodes nodes_;
    std::vector<std::size_t> met_; // all, then by node
    std::vector<Rank> ranks_;
    std::vector<std::shared_ptr<Schedule const>> schedules_; // what is before calls, by their `cold`, then the calls
    std::vector<Message> messages_;
    std::vector<std::int32_t> free_, ready_, ended_;
    Waiting waiting_; // the first message of two ranks that has one end only
    std::vector<double> adapter_free_s_;
    std::vector<bool> open_; // connections
    std::unordered_map<std::size_t, double> opening_s_;
};

} // namespace weft::rounds
