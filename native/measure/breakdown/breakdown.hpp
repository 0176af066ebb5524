// SPDX-License-Identifier: BSD-3-Clause
// The breakdown of an all-to-all, which explains its time. In turns with the samples of the library's call it measures
// the same blocks between the same buffers by plain messages: one rank at a time, and all ranks at once in rounds. So
// changes of the machine affect all of them, and a call has one set of samples (METHOD 17). weft.kernel.steps has the
// same names.
//
// Operations of a call `C`:
//   C:within     blocks that stay in a node, all ranks at once
//   C:between    blocks that leave a node, of one rank at a time
//   C:shift      all blocks in p rounds, all ranks at once
//   C:pairwise   the same by pairs, if p is a power of two
//   C            the library's call
//   C:rounds     the rounds of C:shift one by one: row d of a rank is the median of its round d
#pragma once

#include "breakdown/peer_blocks.hpp"
#include "cell/cell.hpp"
#include "host/memory.hpp"

#include <functional>
#include <string>

namespace weft {

/// Whether the plan asks for the breakdown of this cell; false for a single rank.
[[nodiscard]] bool is_explained(Cell const &cell);

/// Adds the memory that one rank allocates for the breakdowns of `calls` calls.
void add_breakdown_need(Need &need, Cell const &cell, std::int64_t calls);

/// Collective: takes the warm samples of the call named `op`, made by `call`, and in turns those of its breakdown.
void measure_breakdown(Cell &cell, std::string const &op, PeerBlocks const &blocks, std::function<void()> const &call,
                       How how = {});

} // namespace weft
