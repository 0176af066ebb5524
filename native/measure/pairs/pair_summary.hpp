// SPDX-License-Identifier: BSD-3-Clause
// All samples of a pair as a few rows of the record, where the samples themselves would be too many to keep (METHOD 1):
// order statistics, and a histogram of logarithmic buckets that can be added to others.
#pragma once

#include "recorder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// floor(log2(ns) * 32) of one operation, which takes duration / batch ns; 0 for what is under 1 ns.
/// weft.store.pairs counts the same buckets.
std::int64_t log_bucket(std::int64_t duration_ns, std::int64_t batch);

/// Rows of a summary, in their columns `duration_ns` and `taint`, by METHOD 14's definition of a quantile:
///   n, tainted | min, p5 | p25, median | p75, p95 | p99, max | mean, 0 | low, high (of the median, 95 %)
/// then one row a bucket: bucket, count. Durations are those of whole samples, of `batch` operations each.
/// Nothing for no samples.
std::vector<Row> summary_of(std::span<Row const> samples, std::int64_t batch);

} // namespace weft
