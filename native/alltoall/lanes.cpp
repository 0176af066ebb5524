// SPDX-License-Identifier: BSD-3-Clause
#include "lanes.hpp"

#include <algorithm>

namespace weft::alltoall {

std::int64_t Slice::of(std::int64_t block_bytes) const {
    return std::clamp<std::int64_t>(block_bytes - first, 0, length);
}

namespace {

/// What a walk over the blocks of one direction, in memory order, writes down: positions, and my lane's regions.
struct Notes {
    std::vector<std::int64_t> &at; // [rank]: blocks of mine
    std::vector<Region> &regions;  // [node]: of my lane
    std::int64_t sum = 0;

    void block(int rank, std::int64_t bytes) {
        at[std::size_t(rank)] = sum;
        sum += bytes;
    }
    /// Of my lane: the bytes from `first` up to here.
    void extend(int node, std::int64_t first) {
        Region &region = regions[std::size_t(node)];
        region.at = region.bytes == 0 ? first : region.at;
        region.bytes += sum - first;
    }
};

/// Bytes of slices of blocks: `bytes(i)` for each of `count`; of equal blocks a product, see NodeCounts.
template <typename Bytes> std::int64_t sum_of(NodeCounts const &counts, Slice slice, int count, Bytes bytes) {
    if (counts.out == nullptr) {
        return slice.of(counts.uniform) * count;
    }
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += slice.of(bytes(i));
    }
    return sum;
}

/// A row of outgoing data: the blocks of one source rank (local index) for a node.
void out_row(Notes &notes, std::span<int const> targets, int source, bool mine, NodeCounts const &counts, Slice slice) {
    if (!mine) {
        notes.sum += sum_of(counts, slice, int(targets.size()),
                            [&](int i) { return counts.sent(source, targets[std::size_t(i)]); });
        return;
    }
    for (int const target : targets) {
        notes.block(target, slice.of(counts.sent(source, target)));
    }
}

/// A row of incoming data: the blocks of one source rank for all ranks of this node, of which I am `local`.
void in_row(Notes &notes, int source, int local, int mates, NodeCounts const &counts, Slice slice) {
    notes.sum += sum_of(counts, slice, local, [&](int i) { return counts.received(i, source); });
    notes.block(source, slice.of(counts.received(local, source)));
    notes.sum +=
        sum_of(counts, slice, mates - local - 1, [&](int i) { return counts.received(local + 1 + i, source); });
}

} // namespace

LaneLayout lane_layout(Nodes const &nodes, int me, NodeCounts const &counts, int lanes, Slice slice) {
    LaneLayout made;
    made.out_at.assign(std::size_t(nodes.ranks()), 0);
    made.in_at.assign(std::size_t(nodes.ranks()), 0);
    made.out.assign(std::size_t(nodes.count()), Region{});
    made.in.assign(std::size_t(nodes.count()), Region{});
    int const mates = nodes.size_of(nodes.node_of(me)), local = nodes.local_of(me);
    Notes out{made.out_at, made.out}, in{made.in_at, made.in};
    for (int lane = 0; lane < lanes; ++lane) {
        for (int node = 0; node < nodes.count(); ++node) {
            auto const members = nodes.members(node);
            std::int64_t const first_out = out.sum, first_in = in.sum;
            for (int source = lane; source < mates; source += lanes) {
                out_row(out, members, source, source == local, counts, slice);
            }
            for (int source = lane; source < int(members.size()); source += lanes) {
                in_row(in, members[std::size_t(source)], local, mates, counts, slice);
            }
            if (lane == local) {
                out.extend(node, first_out);
                in.extend(node, first_in);
            }
        }
    }
    made.out_bytes = out.sum;
    made.in_bytes = in.sum;
    return made;
}

} // namespace weft::alltoall
