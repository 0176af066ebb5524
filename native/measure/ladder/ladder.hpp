// SPDX-License-Identifier: BSD-3-Clause
// The ladder of an all-to-all: why it takes the time it takes. Beside the library's call, the same blocks between the
// same places by plain messages: alone, and everybody at once in rounds; taken in turns, so that whatever the machine
// does meanwhile meets all of them. weft.kernel.steps has the same names.
//
// Operations of a call `C`:
//   C:within     blocks that stay in a node, all ranks at once
//   C:between    blocks that leave a node, of one rank at a time
//   C:shift      all blocks in p rounds, everybody at once
//   C:pairwise   the same by pairs, where p is a power of two
//   C:whole      the library's call
//   C:rounds     the rounds of C:shift one by one: row d of a rank is the median of its round d
#pragma once

#include "cell/cell.hpp"
#include "host/memory.hpp"
#include "ladder/peer_blocks.hpp"

#include <functional>
#include <string>

namespace weft {

/// Does the plan ask for the ladder of this cell? A rank alone has none.
[[nodiscard]] bool is_explained(Cell const &cell);

/// Adds what one rank allocates for the ladders of so many calls.
void add_ladder_need(Need &need, Cell const &cell, std::int64_t calls);

/// Collective: measures the ladder of the call named `op`, which `call` makes, with its `blocks`.
void measure_ladder(Cell &cell, std::string const &op, PeerBlocks const &blocks, std::function<void()> const &call);

} // namespace weft
