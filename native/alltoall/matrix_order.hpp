// SPDX-License-Identifier: BSD-3-Clause
// The order in which nodes exchange uneven data, so that the busiest sender and receiver never wait: an open shop in
// which nodes send one part at a time, the hottest receiver first. Receivers are given more than they can take, so that
// a sender that is late leaves no gap: 8 / 7 of it where few nodes send most, or of over 64 nodes; else twice as much,
// or all where senders are even. Pure: no MPI.
//
// No part of over 16 KiB exceeds the mean that the busiest node exchanges with another one: fewer than two parts a
// pair. Where no node sends or receives much more than others, but some pairs do, none exceeds a quarter of it. Time:
// N^2 picks, each the hottest of 64 candidates; of more nodes the first of 16 that is free.
#pragma once

#include "nodes.hpp"

#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// Bytes [low, high) of the `whole` that a node sends another.
struct Part {
    int from;
    int to;
    std::int64_t low;
    std::int64_t high;
    std::int64_t whole;
    std::int64_t start; // in bytes at the rate of an adapter

    /// Where `low` or `high` lies in data of another length.
    std::int64_t scaled(std::int64_t end, std::int64_t bytes) const {
        return end == whole ? bytes : std::int64_t(double(bytes) / double(whole) * double(end));
    }
};

/// Bytes from each node to each, row by row; the diagonal does not matter.
struct NodeMatrix {
    std::vector<std::int64_t> bytes;
    int nodes = 0;

    std::int64_t at(int from, int to) const { return bytes[std::size_t(from) * std::size_t(nodes) + std::size_t(to)]; }
    /// What the busiest node sends or receives.
    std::int64_t busiest() const;
};

/// The parts of node `home` in the order of all nodes: no two of one sender overlap in time.
std::vector<Part> matrix_order(NodeMatrix const &matrix, int home);

constexpr std::int64_t most_small = 6144; // bytes: where a message costs 1 KiB, more than a sixth of a smaller block

/// Whether blocks are smaller on average, and those of no pair of nodes over a quarter larger than the mean. Not with
/// one rank a node, whose messages no algorithm combines.
bool is_small(NodeMatrix const &matrix, Nodes const &nodes);

/// A part of the block for, or from, a rank.
struct PartOfBlock {
    int rank;
    Part part;
};

struct MessageOrder {
    std::vector<PartOfBlock> sends;
    std::vector<PartOfBlock> receives;
};

/// The messages of rank `me`, from the parts of its node. All messages have one order, that of the parts, and in a part
/// rank l of one node sends to rank l + step of the other, by step: so the first that has not ended is the next one of
/// both its ranks. What the node's ranks send each other comes after its second part, while messages to others are
/// under way. Pairs of nodes without a part come last: counts may be newer than the order.
MessageOrder messages_of(std::vector<Part> const &parts, Nodes const &nodes, int me);

} // namespace weft::alltoall
