// SPDX-License-Identifier: BSD-3-Clause
// Common parts of the node-aware algorithms: counts shared inside a node, and copies of parts of blocks to and from
// shared memory.
#pragma once

#include "side.hpp"
#include "state.hpp"
#include "streams.hpp"

#include <algorithm>

namespace weft::alltoall {

/// Provides staging for a call: the size of a node's blocks, up to the limit; for MPI_Alltoallv, where no rank knows
/// all sizes, from a value that the ranks reduce from time to time. False on all ranks if some node has no memory.
bool stage(Exchange const &exchange, State &state);

/// Shares the counts of a node's ranks among them. Ends with a barrier of the node, so that staging may be written.
NodeCounts publish(Exchange const &exchange, State &state);

/// Length of the pieces of a stream in staging: the same on all ranks. Small enough that a batch has pieces for several
/// nodes, which different cores handle.
std::int64_t fragment_length(State const &state);

/// Calls `move(first byte of the block, bytes, offset in the window)` for the part of a block that lies in the window
/// [low, high) of its stream.
template <typename Move>
void move_overlap(std::int64_t block_at, std::int64_t block_bytes, std::int64_t low, std::int64_t high, Move move) {
    std::int64_t const first = std::max(block_at, low);
    std::int64_t const last = std::min(block_at + block_bytes, high);
    if (first < last) {
        move(first - block_at, last - first, first - low);
    }
}

/// Runs `body`; if it throws, the ranks of the node stop waiting for each other.
template <typename Body> void guarded(State &state, Body body) {
    try {
        body();
    } catch (Refused const &) {
        throw; // State::refuse follows
    } catch (...) {
        state.barrier().fail();
        throw;
    }
}

/// Runs an algorithm with staging. False on all ranks, and nothing done, on a single node or if some node has no
/// memory.
template <typename Algorithm> bool run_staged(Spec const &spec, Exchange const &exchange, State &state) {
    if (state.nodes().count() == 1 || !stage(exchange, state)) {
        return false;
    }
    guarded(state, [&] { Algorithm(spec, exchange, state).run(); });
    return true;
}

} // namespace weft::alltoall
