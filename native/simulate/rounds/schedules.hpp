// SPDX-License-Identifier: BSD-3-Clause
// What a rank does in each step of an all-to-all: the algorithms of SMPI's libraries and of native/alltoall, as data.
#pragma once

#include "../../alltoall/nodes.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace weft::rounds {

// receive, send: begin one; with a window, as soon as it has a free slot.
// charge: a copy that is paid for before the next message (native/simulate/machine/copies.hpp); library: the same, if
// the library's copies are charged; copy: one that is paid at once; sleep: for `amount` s. all: wait for what has
// begun; received: for the receives of stages up to `amount`. meet: for the ranks of node `peer`, or for all, at no
// cost.
enum class Does : std::uint8_t { receive, send, charge, library, copy, sleep, all, received, meet };

struct Act {
    Does what;
    std::int32_t peer = -1;
    double amount = 0; // bytes; of a receive its stage
};

enum class Algorithm : std::int32_t {
    together,
    ring,
    exclusive_or,
    bruck,
    doubling,
    linear,
    linear_v,
    scattered,
    window,
    barrier,
    dissemination,
    own_bruck,
    node_direct,
    node_multi,
    node_bruck,
    barrier_of_later
};

// One call of all ranks, as src/weft/plan/schedules.py chooses it.
struct Call {
    std::int32_t algorithm;
    std::int32_t own;       // 1: of native/alltoall, whose copies are always charged
    std::int32_t parameter; // scattered, window, node_direct: messages under way; 0: none; radix, or leaders of a node
    std::int32_t second;    // window: order; node_multi: stages; own_bruck: 1 if sizes travel with the blocks
    std::int32_t asked;     // reductions of 8 B before
    std::int32_t itself;    // scattered: 1 if a rank sends itself a message
    std::int32_t cold;      // 1: a launch's first call, before which the ranks meet without MPI; 2: another first call
    double bytes;           // of a block; of the largest, if they differ
    double const *blocks;   // bytes from each rank to each other, (ranks, ranks); null if all are equal

    double between(std::int32_t ranks, std::int32_t from, std::int32_t to) const {
        return blocks == nullptr ? bytes : blocks[std::size_t(from) * std::size_t(ranks) + std::size_t(to)];
    }
};

class Schedule {
  public:
    virtual ~Schedule() = default;
    // Appends the acts of a rank's step; returns false after the last.
    virtual bool step(std::int32_t rank, std::int32_t step, std::vector<Act> &acts) const = 0;
    // Messages of a rank under way, receives among them, and bytes of its sends; the first is 0 without a limit.
    virtual std::int32_t slots() const { return 0; }
    virtual double most_bytes() const { return std::numeric_limits<double>::infinity(); }
};

// Throws std::runtime_error for an unknown algorithm.
std::unique_ptr<Schedule> schedule_of(Call const &call, alltoall::Nodes const &nodes);
std::unique_ptr<Schedule> own_schedule_of(Call const &call, alltoall::Nodes const &nodes); // those of native/alltoall

} // namespace weft::rounds
