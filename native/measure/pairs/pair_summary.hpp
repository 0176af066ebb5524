// SPDX-License-Identifier: BSD-3-Clause
// All samples of a pair as a few rows of the record, if the samples themselves would be too many to store (METHOD 1):
// order statistics, and a histogram of logarithmic buckets that can be added to others.
#pragma once

#include "sample/recorder.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// floor(log2(ns) * 32) of one operation, which takes duration / batch ns; 0 below 1 ns. weft.store.pairs uses the same
/// buckets.
std::int64_t log_bucket(std::int64_t duration_ns, std::int64_t batch);

/// Two numbers in each row of a summary: order statistics by METHOD 14's definition of a quantile in the first rows
/// (`low_ns` and `high_ns` hold the median with 95 % confidence, by the number of effective samples; `least_ns` is the
/// median without what the samples lost, `disturbed` the number of those that lost over 1 % of their time), then a row
/// for each bucket in use.
inline constexpr std::array<Columns, 7> summary_head{{{"", "samples", "disturbed"},
                                                      {"", "min_ns", "p5_ns"},
                                                      {"", "p25_ns", "median_ns"},
                                                      {"", "p75_ns", "p95_ns"},
                                                      {"", "p99_ns", "max_ns"},
                                                      {"", "mean_ns", "least_ns"},
                                                      {"", "low_ns", "high_ns"}}};
inline constexpr Columns bucket_columns{"", "bucket", "count"};

/// The rows of a summary. Durations are those of whole samples, of `batch` operations each. Empty without samples.
std::vector<Row> summary_of(std::span<Row const> samples, std::int64_t batch, LostBy how);

} // namespace weft
