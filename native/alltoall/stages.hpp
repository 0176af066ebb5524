// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of node.multi: how streams between nodes are cut into pieces, and pieces put into stages, so that the
// copies of one stage are made while the messages of others are under way. Pure: no MPI.
#pragma once

#include "streams.hpp"

#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// No piece is cut smaller than this, and no stage has less data: a message and a barrier would cost more than the
/// bytes.
constexpr std::int64_t least_piece = 16'384;

/// Length of the pieces of a stream of `bytes`, the same at both ends: `stages` pieces and more over all streams of a
/// node, none below `least_piece`, none above `most`.
std::int64_t piece_length(std::int64_t bytes, int nodes, int stages, std::int64_t most);

/// A part of a batch whose messages are sent together.
struct Stage {
    std::vector<Item> messages; // to and from other nodes
    std::vector<Item> own;      // blocks within the node
};

/// Divides a batch into at most `stages` stages of about the same bytes; order is kept. The first and the last stage
/// have one item: nothing else can be done while the first is copied in and the last is copied out. What the node's
/// ranks send each other is in the second stage (if there is one), copied while the first messages are under way.
std::vector<Stage> stages_of(std::vector<Item> const &batch, int home, ItemSizes const &sizes, int stages);

} // namespace weft::alltoall
