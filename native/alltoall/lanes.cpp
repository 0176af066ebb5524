// SPDX-License-Identifier: BSD-3-Clause
#include "lanes.hpp"

#include <algorithm>

namespace weft::alltoall {

std::int64_t Slice::of(std::int64_t block_bytes) const {
    return std::clamp<std::int64_t>(block_bytes - first, 0, length);
}

namespace {

/// Visits the blocks of one direction in memory order. `visit(lane, node, mine, rank, bytes)`: `mine` and
/// `rank` are the ends of the block on this node (local index) and on the other.
template <typename Visit>
void walk_out(Nodes const &nodes, int home, NodeCounts const &counts, int lanes, Slice slice, Visit visit) {
    for (int lane = 0; lane < lanes; ++lane) {
        for (int node = 0; node < nodes.count(); ++node) {
            for (int source = lane; source < nodes.size_of(home); source += lanes) {
                for (int const target : nodes.members(node)) {
                    visit(lane, node, source, target, slice.of(counts.sent(source, target)));
                }
            }
        }
    }
}

template <typename Visit>
void walk_in(Nodes const &nodes, int home, NodeCounts const &counts, int lanes, Slice slice, Visit visit) {
    for (int lane = 0; lane < lanes; ++lane) {
        for (int node = 0; node < nodes.count(); ++node) {
            for (int source = lane; source < nodes.size_of(node); source += lanes) {
                int const rank = nodes.members(node)[std::size_t(source)];
                for (int target = 0; target < nodes.size_of(home); ++target) {
                    visit(lane, node, target, rank, slice.of(counts.received(target, rank)));
                }
            }
        }
    }
}

/// Records the positions of blocks and regions during a visit.
struct Notes {
    std::vector<std::int64_t> &at; // [rank]: blocks of mine
    std::vector<Region> &regions;  // [node]: of my lane
    int local;
    std::int64_t sum = 0;

    void operator()(int lane, int node, int mine, int rank, std::int64_t bytes) {
        if (mine == local) {
            at[std::size_t(rank)] = sum;
        }
        if (lane == local) {
            Region &region = regions[std::size_t(node)];
            region.at = region.bytes == 0 ? sum : region.at;
            region.bytes += bytes;
        }
        sum += bytes;
    }
};

} // namespace

LaneLayout lane_layout(Nodes const &nodes, int me, NodeCounts const &counts, int lanes, Slice slice) {
    LaneLayout made;
    made.out_at.assign(std::size_t(nodes.ranks()), 0);
    made.in_at.assign(std::size_t(nodes.ranks()), 0);
    made.out.assign(std::size_t(nodes.count()), Region{});
    made.in.assign(std::size_t(nodes.count()), Region{});
    int const home = nodes.node_of(me);
    Notes out{made.out_at, made.out, nodes.local_of(me)};
    walk_out(nodes, home, counts, lanes, slice, [&](auto... block) { out(block...); });
    Notes in{made.in_at, made.in, nodes.local_of(me)};
    walk_in(nodes, home, counts, lanes, slice, [&](auto... block) { in(block...); });
    made.out_bytes = out.sum;
    made.in_bytes = in.sum;
    return made;
}

} // namespace weft::alltoall
