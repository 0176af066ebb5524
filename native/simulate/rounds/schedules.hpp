// SPDX-License-Identifier: BSD-3-Clause
// What a rank does in each step of an all-to-all: the algorithms of SMPI's libraries and of native/alltoall, as data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::rounds {

// receive, send: begin one; with a window, as soon as it has a free slot.
// charge: a copy that is paid for before the next message (native/simulate/machine/copies.hpp); copy: one that is paid
// at once. all: wait for what has begun. meet: for all other ranks, at no cost.
enum class Does : std::uint8_t { receive, send, charge, copy, all, meet };

struct Act {
    Does what;
    std::int32_t peer = -1;
    double bytes = 0;
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
    barrier_of_later
};

// One call of all ranks, as src/weft/plan/schedules.py chooses it.
struct Call {
    std::int32_t algorithm;
    std::int32_t own;       // 1: of native/alltoall, whose copies are always charged
    std::int32_t parameter; // scattered: messages under way; window: messages in flight; 0: none
    std::int32_t itself;    // scattered: 1 if a rank sends itself a message
    std::int32_t cold;      // 1: a launch's first call, before which the ranks meet without MPI; 2: another first call
    double bytes;           // of a block
};

class Schedule {
  public:
    virtual ~Schedule() = default;
    // Appends the acts of a rank's step; returns false after the last.
    virtual bool step(std::int32_t rank, std::int32_t step, std::vector<Act> &acts) const = 0;
};

// Throws std::runtime_error for an unknown algorithm.
std::unique_ptr<Schedule> schedule_of(Call const &call, std::int32_t ranks);

} // namespace weft::rounds
