// SPDX-License-Identifier: BSD-3-Clause
// Effective sample size: successive samples are correlated, so they count as fewer independent ones; and whether these
// are enough (METHOD 8). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// Least number of independent samples for a precise result.
constexpr double least_effective_samples = 10;

/// Rank correlation between each value and the next one, which is robust against outliers; equal values have the mean
/// of their ranks. Corrected for the bias -(1 + 3 r) / n of an estimate from n values (Kendall 1954). 0 if all values
/// are equal, and for fewer than 3.
double lag_1_correlation(std::span<std::int64_t const> in_order);

/// n (1 - r) / (1 + r) with r the lag-1 correlation; never more than n, and never fewer than 1 for n >= 1.
double effective_samples(std::span<std::int64_t const> in_order);

/// The median of samples and its 95 % interval, as wide as that of the number of effective samples.
struct MedianSoFar {
    double effective;
    std::int64_t median_ns;
    std::int64_t low_ns;
    std::int64_t high_ns;
    std::size_t low_rank; ///< of `low_ns` among the sorted samples, from 1
};

/// `in_order`: in the order of measurement. Nothing if there are too few effective samples for an interval.
std::optional<MedianSoFar> median_so_far(std::span<std::int64_t const> in_order);

/// True if there are enough effective samples, and the 95 % interval of the median for that number of samples lies
/// within (1 +- precision) x median, whatever part of the time the samples lost was really theirs: the interval begins
/// at that of the times without it (METHOD 11). `in_order`: in the order of measurement. `lost_ns`: of each, or empty.
bool is_settled(std::span<std::int64_t const> in_order, std::span<std::int64_t const> lost_ns, double precision);

} // namespace weft
