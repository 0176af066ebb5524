// SPDX-License-Identifier: BSD-3-Clause
// What the node-aware algorithms have in common: counts shared inside a node, and parts of blocks moved to and from
// shared memory.
#pragma once

#include "side.hpp"
#include "state.hpp"
#include "streams.hpp"

#include <functional>

namespace weft::alltoall {

/// Provides staging for a call: what a node's blocks take, up to the limit; for MPI_Alltoallv, whose sizes nobody knows
/// of all ranks, by what the ranks agree on from time to time. False on all ranks where some node has no memory.
bool stage(Exchange const &exchange, State &state);

/// Makes the counts of a node's ranks known to them. Ends with a barrier of the node, so that staging may be written.
NodeCounts publish(Exchange const &exchange, State &state);

/// Longest piece of a stream that is staged at once: the same on all ranks. Small enough that a batch holds pieces for
/// several nodes, of which different cores take care.
std::int64_t fragment_length(State const &state);

/// Calls `move(first byte of the block, bytes, where from the start of the window)` for the part of a block that lies
/// in the window [low, high) of its stream.
void move_overlap(std::int64_t block_at, std::int64_t block_bytes, std::int64_t low, std::int64_t high,
                  std::function<void(std::int64_t, std::int64_t, std::int64_t)> const &move);

/// Runs `body`; where it throws, the ranks of the node stop waiting for each other.
template <typename Body> void guarded(State &state, Body body) {
    try {
        body();
    } catch (...) {
        state.barrier().fail();
        throw;
    }
}

} // namespace weft::alltoall
