// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_summary.hpp"

#include "sample/effective.hpp"
#include "sample/stop_rule.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

namespace {

/// The order statistic x(ceil(q n)); as weft.analyse.statistics.quantile, with its guard against 0.95 * 20 > 19.
std::int64_t quantile_of(std::span<std::int64_t const> sorted, double q) {
    auto const rank = std::int64_t(std::ceil(q * double(sorted.size()) - 1e-9));
    return sorted[std::size_t(std::max<std::int64_t>(rank, 1) - 1)];
}

Row pair_of_numbers(std::int64_t first, std::int64_t second) {
    return {0, first, second};
}

/// Adds one row per non-empty bucket; since times are sorted, equal buckets are adjacent.
void add_buckets(std::span<std::int64_t const> sorted, std::int64_t batch, std::vector<Row> &rows) {
    std::size_t const first = rows.size();
    for (std::int64_t const duration : sorted) {
        std::int64_t const bucket = log_bucket(duration, batch);
        if (rows.size() > first && rows.back().duration_ns == bucket) {
            ++rows.back().lost;
        } else {
            rows.push_back(pair_of_numbers(bucket, 1));
        }
    }
}

} // namespace

std::int64_t log_bucket(std::int64_t duration_ns, std::int64_t batch) {
    double const each_ns = double(duration_ns) / double(batch);
    return each_ns <= 1 ? 0 : std::int64_t(std::floor(std::log2(each_ns) * 32));
}

std::vector<Row> summary_of(std::span<Row const> samples, std::int64_t batch, LostBy how) {
    std::vector<Row> rows;
    if (samples.empty()) {
        return rows;
    }
    std::vector<std::int64_t> sorted;
    std::vector<std::int64_t> least;
    std::int64_t disturbed = 0;
    double sum = 0;
    for (Row const &row : samples) {
        sorted.push_back(row.duration_ns);
        std::int64_t const lost_ns = std::min(most_lost_ns(row, how), row.duration_ns);
        least.push_back(row.duration_ns - lost_ns);
        disturbed += 100 * lost_ns > row.duration_ns ? 1 : 0;
        sum += double(row.duration_ns);
    }
    auto const interval = median_so_far(sorted); // in their order
    std::sort(sorted.begin(), sorted.end());
    auto const n = std::int64_t(sorted.size());
    auto const at = [&](double q) { return quantile_of(sorted, q); };
    rows = {
        pair_of_numbers(n, disturbed), pair_of_numbers(sorted.front(), at(0.05)),
        pair_of_numbers(at(0.25), median_of_sorted(sorted)), pair_of_numbers(at(0.75), at(0.95)),
        pair_of_numbers(at(0.99), sorted.back()), pair_of_numbers(std::llround(sum / double(n)), median(least)),
        // without an interval of 95 % (under 6 effective samples) the widest possible
        pair_of_numbers(interval ? interval->low_ns : sorted.front(), interval ? interval->high_ns : sorted.back())};
    add_buckets(sorted, batch, rows);
    return rows;
}

} // namespace weft
