// SPDX-License-Identifier: BSD-3-Clause
// Rounds of messages read from a text, for `sched`. Pure: no MPI.
//
//   weft-rounds 1
//   ranks 4
//   round
//   0 1
//   2 3
//   round
//   ...
//
// A line "A B" is a message from A to B. In a round no rank sends twice, and none receives twice; over all rounds each
// rank sends to each other once. A line that starts with # is a comment.
#pragma once

#include "orders.hpp"

#include <string_view>
#include <vector>

namespace weft::alltoall {

struct RoundFile {
    int ranks = 0;
    std::vector<std::vector<Step>> rounds; // [round][rank]
};

/// Throws Error (MPI_ERR_ARG), naming the line, if the text breaks one of the rules above.
RoundFile parse_rounds(std::string_view text);

} // namespace weft::alltoall
