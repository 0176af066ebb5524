// SPDX-License-Identifier: BSD-3-Clause
// The stop rule (METHOD 7 and 8). Pure functions; the Python side has the same table of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft {

/// Rules of sampling, from the plan.
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

/// The order statistics x(low), x(high) that enclose the median of the population with at least 95 % confidence, for
/// any distribution: low is the largest l with P(B <= l - 1) <= 0.025 where B ~ Binomial(n, 1/2), and high = n + 1 -
/// low. Fewer than 6 values have no such interval (2^-5 > 0.025).
std::optional<MedianRanks> median_ranks(std::int64_t n);

/// Median of sorted values; for an even number the mean of the two middle ones, rounded down.
std::int64_t median_of_sorted(std::span<std::int64_t const> sorted);
/// Median of values in any order; reorders them.
std::int64_t median(std::span<std::int64_t> values);

/// True if the last five of `medians` agree: the largest is at most 5 % above the smallest.
bool is_steady(std::span<std::int64_t const> medians);

/// Samples to take before the next decision of the stop rule, so that decisions are few (each takes a reduction) and
/// none is much later than the end of the budget. At least 1.
std::int64_t next_chunk(Rules const &rules, std::int64_t taken, std::int64_t left_ns, std::int64_t sample_ns);

/// Why the sampling of an operation ended. `residual`: it was precise, but the closing check of the clocks ruled out
/// the definition of time that was used, and by the other one it is not.
enum class EndedBy { single, precision, samples, budget, residual };
char const *name(EndedBy reason) noexcept;

/// Progress of the sampling of an operation.
struct Progress {
    std::int64_t kept = 0;      ///< samples in the record
    std::int64_t taken = 0;     ///< dropped samples included
    bool precise = false;       ///< is_settled of the kept samples, by the reported time
    std::int64_t left_ns = 0;   ///< of the budget
    std::int64_t sample_ns = 0; ///< time per sample with all overheads; 0: not known
};

/// The size of the next chunk, or the reason to end.
struct Decision {
    std::int64_t samples = 0; ///< 0: enough
    EndedBy ended_by = EndedBy::budget;
};
Decision decide(Rules const &rules, Progress const &progress);

} // namespace weft
