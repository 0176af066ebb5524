// SPDX-License-Identifier: BSD-3-Clause
// Samples that follow one another are alike: how many independent ones they are worth, and whether those are enough
// (METHOD 8). Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

/// Nothing is called precise on fewer independent samples than this.
constexpr double least_effective_samples = 10;

/// Correlation between each value and the next one, of their ranks among all values, so that a few outliers hide
/// nothing; equal values have the mean of their ranks. Corrected for the bias -(1 + 3 r) / n that an estimate from n
/// values has (Kendall 1954). 0 where all values are equal, and for fewer than 3.
double lag_1_correlation(std::span<std::int64_t const> in_order);

/// n (1 - r) / (1 + r) with r the lag-1 correlation; never more than n, and never fewer than 1 for n >= 1.
double effective_samples(std::span<std::int64_t const> in_order);

/// True when there are enough effective samples, and the 95 % interval of the median that so many samples have lies
/// within (1 +- precision) x median. `in_order`: as they were taken.
bool is_settled(std::span<std::int64_t const> in_order, double precision);

} // namespace weft
