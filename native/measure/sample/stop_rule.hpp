// SPDX-License-Identifier: BSD-3-Clause
// When enough has been measured (METHOD 7 and 8). Pure functions; the Python side has the same table of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// How samples are taken; from the plan.
struct Rules {
    double precision = 0.05;
    std::int64_t min_samples = 10;
    std::int64_t max_samples = 1000;
    std::int64_t warmup_most = 50;
    std::int64_t budget_ns = 5'000'000'000;
};

/// Ranks of order statistics, counted from 1.
struct MedianRanks {
    std::int64_t low;
    std::int64_t high;
};

/// The order statistics x(low), x(high) that hold the median of the population with at least 95 % confidence, whatever
/// its distribution: low is the largest l with P(B <= l - 1) <= 0.025 where B ~ Binomial(n, 1/2), and high = n + 1 -
/// low. Fewer than 6 values have no such interval (2^-5 > 0.025).
std::optional<MedianRanks> median_ranks(std::int64_t n);

/// Median of sorted values; the mean of the two middle ones, rounded down, where their number is even.
std::int64_t median_of_sorted(std::span<std::int64_t const> sorted);
/// Median of values in any order, which are reordered.
std::int64_t median(std::span<std::int64_t> values);

/// True when the 95 % interval of the median exists and lies within (1 +- precision) x median.
bool is_precise(std::span<std::int64_t const> sorted, double precision);

/// True when the last five of `medians` agree: the largest at most 5 % over the smallest.
bool is_steady(std::span<std::int64_t const> medians);

/// Samples to take before the next look at the stop rule, so that the looks are few (each costs a reduction) and no
/// look comes much later than the budget's end. At least 1.
std::int64_t next_chunk(Rules const &rules, std::int64_t taken, std::int64_t left_ns, std::int64_t sample_ns);

/// Why the samples of an operation ended. `residual`: they were precise, but the closing check of the clocks took away
/// the definition of time that was judged, and by the other one they are not.
enum class EndedBy { single, precision, samples, budget, residual };
char const *name(EndedBy reason) noexcept;

/// How far the sampling of an operation is.
struct Progress {
    std::int64_t kept = 0;      ///< samples in the record
    std::int64_t taken = 0;     ///< with those that were dropped
    bool precise = false;       ///< is_settled of those kept, by the time that is reported
    std::int64_t left_ns = 0;   ///< of the budget
    std::int64_t sample_ns = 0; ///< what a sample takes, with all that surrounds it; 0: not known
};

/// The next chunk, or the reason to end.
struct Decision {
    std::int64_t samples = 0; ///< 0: enough
    EndedBy ended_by = EndedBy::budget;
};
Decision decide(Rules const &rules, Progress const &progress);

} // namespace weft
