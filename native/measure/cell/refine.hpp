// SPDX-License-Identifier: BSD-3-Clause
// Which sizes to add to a sweep: SKaMPI's adaptive refinement (Reussner, Sanders, Prechelt, Mueller 1998). Where the
// library changes its protocol or algorithm, the measured points deviate from the straight line between their
// neighbours. Pure: no MPI, no randomness.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// The median time of an operation at one size.
struct SizePoint {
    std::int64_t bytes;
    double seconds;
};

struct RefineRules {
    std::int64_t most = 0;       ///< most sizes to add to a sweep
    std::int64_t multiple = 1;   ///< sizes are whole multiples of this, in bytes
    double tolerance = 0.1;      ///< smaller deviations (10 %) are not refined
    double octave_share = 0.125; ///< sizes closer than this share of an octave are not divided further
};

/// Deviation of point `k` of a sweep from the straight line between its neighbours, with logarithmic axes: |ln(t /
/// t_line)|. 0 for the first and the last point, and next to a size of 0 bytes.
double deviation(std::span<SizePoint const> sweep, std::size_t k);

/// The size to measure next: the geometric mean of the gap whose two ends together deviate most, so a step is halved
/// until it is located to an eighth of an octave. Nothing if no gap is wide enough or no end deviates by more than the
/// tolerance. `sweep` is ascending; the decision depends on nothing else.
std::optional<std::int64_t> next_size(std::span<SizePoint const> sweep, RefineRules const &rules);

} // namespace weft
