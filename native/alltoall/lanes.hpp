// SPDX-License-Identifier: BSD-3-Clause
// Layout of blocks in the staging memory of node.bruck: a lane is the share of a node's ranks whose blocks one core
// forwards. Pure: no MPI.
//
// Lane l has the blocks of the source ranks whose local index is l modulo the number of lanes. Outgoing data are laid
// out as [lane][destination node][source rank][destination rank], incoming data as [lane][source node][source rank]
// [destination rank]; ranks ascending. Of each block only the bytes [first, first + slice) are present.
#pragma once

#include "streams.hpp"

namespace weft::alltoall {

struct Slice {
    std::int64_t first;
    std::int64_t length;

    /// Bytes of a block of `block_bytes` that lie in the slice.
    std::int64_t of(std::int64_t block_bytes) const;
};

/// A part of staging.
struct Region {
    std::int64_t at = 0;
    std::int64_t bytes = 0;
};

struct LaneLayout {
    std::vector<std::int64_t> out_at; // [rank]: my block for it
    std::vector<std::int64_t> in_at;  // [rank]: its block for me
    std::vector<Region> out;          // [node]: what my lane has for it; empty if I forward nothing
    std::vector<Region> in;           // [node]: what my lane gets from it
    std::int64_t out_bytes = 0;       // all lanes
    std::int64_t in_bytes = 0;
};

/// `lanes` must not exceed the number of ranks of any node.
LaneLayout lane_layout(Nodes const &nodes, int me, NodeCounts const &counts, int lanes, Slice slice);

} // namespace weft::alltoall
