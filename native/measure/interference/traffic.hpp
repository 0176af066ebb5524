// SPDX-License-Identifier: BSD-3-Clause
// Traffic beside a measured call: who sends to whom, and messages that go on until they are stopped.
#pragma once

#include "cell/cell.hpp"
#include "host/buffer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One kind of traffic and its strength, `incast` or `incast.25`: bursts a quarter of the time.
struct TrafficKind {
    explicit TrafficKind(std::string const &word);
    std::string pattern;
    std::int64_t percent = 100;
};

/// To whom a rank sends in a pattern, and from whom it receives, of `size` ranks; Failure for an unknown pattern.
///   alltoall  every rank to every other
///   incast    all to the first
///   shift     every rank to the one half of them further on
///   bcast     the first to all others
///   stream    each of the first half to its partner in the second
struct PeersOf {
    PeersOf(std::string_view pattern, int rank, int size);
    std::vector<int> to;
    std::vector<int> from;
};

/// Orders of rank 0 of those who measure to those who do not: as one message each, with a tag of their own.
namespace order {
constexpr int tag = 29;
constexpr int stop_tag = 30;
constexpr int answer_tag = 31;
} // namespace order

/// The ranks that make traffic. Orders come over the communicator of the launch.
class Traffic {
  public:
    /// Collective over them. Throws Refusal `memory` on all ranks together.
    explicit Traffic(Cell const &cell);
    /// Of one of `ranks`, with the records of messages under way both ways.
    static std::int64_t need(Cell const &cell, int ranks);

    /// Collective where there is an order: makes the traffic that it asks for until it is stopped. False without one.
    bool serve();

  private:
    void run(TrafficKind const &kind);
    void answer() const;

    Team const &team_;
    MPI_Comm launch_;
    int commander_; ///< rank in the launch
    std::vector<TrafficKind> kinds_;
    std::int64_t bytes_; ///< of a message
    std::int64_t burst_; ///< messages to each peer, twice as many under way at full strength
    Buffer send_;
    Buffer receive_;
};

} // namespace weft
