// SPDX-License-Identifier: BSD-3-Clause
// What the kernels that sweep over sizes share. Plan keys of a cell:
//   bytes B0 B1 ...   the sizes, ascending
//   refine MOST       sizes to add where the times leave the line between their neighbours (default 0)
#pragma once

#include "cell/cell.hpp"
#include "cell/refine.hpp"
#include "sample/recorder.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

/// The sizes of a cell; throws Failure for a list that is empty, negative or does not ascend.
std::vector<std::int64_t> sizes_of(Cell const &cell);

/// Name of an operation at a size, "alltoall@1024", as the analysis splits it again.
std::string op_at(std::string const &name, std::int64_t bytes);

/// The sizes in an order of this launch's own, drawn from the plan's seed: a machine that slows down during a cell must
/// not look like a slope over sizes. The same on every rank.
std::vector<std::int64_t> shuffled(Cell const &cell, std::vector<std::int64_t> sizes);

/// Sizes that a sweep may measure in all, for the memory need: those of the plan and those that refinement may add.
std::int64_t most_sizes(Cell const &cell);

/// Collective: `measure(bytes)` for each size in a shuffled order, then for each size that refinement adds, which is
/// decided on rank 0 from the warm medians of `op_at(name, bytes)`.
void sweep_sizes(Cell const &cell, std::string const &name, std::int64_t multiple,
                 std::function<void(std::int64_t bytes)> const &measure);

} // namespace weft
