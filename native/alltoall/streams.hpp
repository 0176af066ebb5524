// SPDX-License-Identifier: BSD-3-Clause
// How the blocks between two nodes lie behind each other in a stream of bytes, and how streams are cut into batches
// that fit the staging memory. Pure: no MPI.
//
// Node to node, a stream has the blocks in the order [source rank][destination rank]. The sending node knows their
// sizes from its send counts, the receiving one from its receive counts: nobody sends metadata.
#pragma once

#include "nodes.hpp"

#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// Bytes between the ranks of one node and all ranks: the same for all pairs, or two tables.
struct NodeCounts {
    std::int64_t uniform = 0;          // where there are no tables
    std::int64_t const *out = nullptr; // [local rank][any rank] bytes sent
    std::int64_t const *in = nullptr;  // [local rank][any rank] bytes received
    int ranks = 0;

    std::int64_t sent(int local, int rank) const {
        return out == nullptr ? uniform : out[std::int64_t(local) * ranks + rank];
    }
    std::int64_t received(int local, int rank) const {
        return in == nullptr ? uniform : in[std::int64_t(local) * ranks + rank];
    }
};

/// Where the blocks of one rank lie in its node's streams.
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

/// One fragment to the node `step` ahead and one from the node `step` behind, in the staging of a batch.
struct Item {
    int to;                // node
    int from;              // node
    std::int64_t fragment; // of both streams
    std::int64_t out_at;   // in the staging for what goes out
    std::int64_t in_at;    // in the staging for what comes in
};

/// Bytes that an item takes of the staging: `out` for a node and fragment, `in` likewise.
struct ItemSizes {
    std::vector<std::vector<std::int64_t>> out; // [node][fragment]
    std::vector<std::vector<std::int64_t>> in;  // [node][fragment]
};

/// Items in the order (fragment, step), cut into batches of at most `capacity` bytes out and in.
///
/// All nodes follow the same order and finish a batch before the next, each cutting where its own staging is full. That
/// cannot deadlock: the first item that is not finished anywhere is in the current batch of both its nodes.
///
/// No item may be larger than `capacity`.
std::vector<std::vector<Item>> batches(Nodes const &nodes, int node, ItemSizes const &sizes, std::int64_t capacity);

/// Which of a node's ranks exchanges messages with another node. Symmetric: the cores that two nodes choose for each
/// other depend on the sum of their numbers alone, so that one connection serves both directions.
///
/// Returns the local index on `node`: (node + other) mod nl, with nl no more than the node has ranks.
int owner_of(Nodes const &nodes, int node, int other, int leaders);

} // namespace weft::alltoall
