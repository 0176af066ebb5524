// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over sizes, for all kernels that have them. Plan keys of a cell:
//   bytes B0 B1 ...   the sizes, ascending
//   refine MOST       most sizes to add where times deviate from the line between their neighbours (default 0)
#pragma once

#include "cell/cell.hpp"
#include "cell/refine.hpp"
#include "sample/recorder.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

/// The sizes of a cell; throws Failure for a list that is empty, has negative sizes or is not ascending.
std::vector<std::int64_t> sizes_of(Cell const &cell);

/// Name of an operation at a size, "alltoall@1024"; the analysis parses it.
std::string op_at(std::string const &name, std::int64_t bytes);

/// The sizes in a random order of this launch, from the plan's seed: otherwise a slowdown of the machine during a cell
/// would look like a dependence on size. The same on every rank.
std::vector<std::int64_t> shuffled(Cell const &cell, std::vector<std::int64_t> sizes);

/// Most sizes that a sweep may measure, for the memory need: those of the plan and those that refinement may add.
std::int64_t most_sizes(Cell const &cell);

/// Collective: `measure(bytes)` for each size in a shuffled order, then for each size that refinement adds, which is
/// decided on rank 0 from the warm medians of `op_at(name, bytes)`.
void sweep_sizes(Cell const &cell, std::string const &name, std::int64_t multiple,
                 std::function<void(std::int64_t bytes)> const &measure);

} // namespace weft
