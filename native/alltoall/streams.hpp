// SPDX-License-Identifier: BSD-3-Clause
// The order of the blocks between two nodes in a stream of bytes, and the division of streams into batches that fit
// into the staging memory. Pure: no MPI.
//
// A stream from node to node has its blocks in the order [source rank][destination rank]. The sending node knows their
// sizes from its send counts, the receiving one from its receive counts: no metadata is sent.
#pragma once

#include "nodes.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft::alltoall {

/// Bytes between the ranks of one node and all ranks: the same for all pairs, or two tables.
struct NodeCounts {
    std::int64_t uniform = 0;          // used without tables
    std::int64_t const *out = nullptr; // [local rank][any rank] bytes sent
    std::int64_t const *in = nullptr;  // [local rank][any rank] bytes received
    int ranks = 0;

    std::int64_t sent(int local, int rank) const {
        return out == nullptr ? uniform : out[std::int64_t(local) * ranks + rank];
    }
    std::int64_t received(int local, int rank) const {
        return in == nullptr ? uniform : in[std::int64_t(local) * ranks + rank];
    }
    // Sums. Of equal blocks they are products: with 96 ranks on each of 128 nodes to add up every block of the node
    // would take longer than to send small ones.
    /// Bytes from a rank of this node to the ranks `to`.
    std::int64_t sent_to(int local, std::span<int const> to) const;
    /// Bytes from `rank` to the ranks [first, last) of this node.
    std::int64_t received_by(int first, int last, int rank) const;
};

/// Positions of the blocks of one rank in its node's streams.
struct NodeStreams {
    std::vector<std::int64_t> out_bytes; // [node]: the stream to it
    std::vector<std::int64_t> in_bytes;  // [node]: the stream from it
    std::vector<std::int64_t> out_at;    // [rank]: of my block for it, in the stream to its node
    std::vector<std::int64_t> in_at;     // [rank]: of its block for me, in the stream from its node
};

NodeStreams node_streams(Nodes const &nodes, int me, NodeCounts const &counts);

/// As above for streams from one rank to one node: [destination rank].
struct RankStreams {
    std::vector<std::int64_t> out_bytes; // [local rank][node]: its stream to that node
    std::vector<std::int64_t> in_bytes;  // [rank]: its stream to my node
    std::vector<std::int64_t> out_at;    // [rank]: of my block for it, in my stream to its node
    std::vector<std::int64_t> in_at;     // [rank]: of its block for me, in its stream to my node
};

RankStreams rank_streams(Nodes const &nodes, int me, NodeCounts const &counts);

/// Bytes [fragment * length, ...) of a stream of `total` bytes: at most `length`, zero beyond the end.
std::int64_t fragment_bytes(std::int64_t total, std::int64_t fragment, std::int64_t length);

/// One fragment to node + `step` and one from node - `step`, in the staging of a batch.
struct Item {
    int to;                // node
    int from;              // node
    std::int64_t fragment; // of both streams
    std::int64_t out_at;   // in the staging for outgoing data
    std::int64_t in_at;    // in the staging for incoming data
};

/// Bytes of staging for an item: `out` for a node and fragment, `in` likewise.
struct ItemSizes {
    std::vector<std::vector<std::int64_t>> out; // [node][fragment]
    std::vector<std::vector<std::int64_t>> in;  // [node][fragment]
};

/// Items in the order (fragment, step), divided into batches of at most `capacity` bytes out and in.
///
/// All nodes use the same order and finish a batch before the next; each starts a new batch when its own staging is
/// full. This cannot deadlock: the first unfinished item of all nodes is in the current batch of both its nodes.
///
/// No item may be larger than `capacity`.
std::vector<std::vector<Item>> batches(Nodes const &nodes, int node, ItemSizes const &sizes, std::int64_t capacity);

/// Which of a node's ranks exchanges messages with another node. Symmetric: the choice of both nodes depends only on
/// the sum of their numbers, so that one connection serves both directions.
///
/// Returns the local index on `node`: (node + other) mod nl, with nl limited to the node's number of ranks.
int owner_of(Nodes const &nodes, int node, int other, int leaders);

} // namespace weft::alltoall
