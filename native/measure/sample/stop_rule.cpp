// SPDX-License-Identifier: BSD-3-Clause
#include "sample/stop_rule.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weft {

namespace {

/// Probability of k heads in n coin tosses. In logarithms, because 2^-n underflows from n = 1075.
double binomial_half(std::int64_t n, std::int64_t k) {
    double const ways = std::lgamma(double(n) + 1) - std::lgamma(double(k) + 1) - std::lgamma(double(n - k) + 1);
    return std::exp(ways - double(n) * std::log(2.0));
}

} // namespace

std::optional<MedianRanks> median_ranks(std::int64_t n) {
    constexpr double each_tail = 0.025;
    std::int64_t low = 0;
    double tail = 0;
    while (2 * low < n) {
        tail += binomial_half(n, low);
        if (tail > each_tail) {
            break;
        }
        ++low;
    }
    if (low == 0) {
        return std::nullopt;
    }
    return MedianRanks{low, n + 1 - low};
}

std::int64_t median_of_sorted(std::span<std::int64_t const> sorted) {
    if (sorted.empty()) {
        return 0;
    }
    std::size_t const middle = sorted.size() / 2;
    if (sorted.size() % 2 == 1) {
        return sorted[middle];
    }
    return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;
}

std::int64_t median(std::span<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return median_of_sorted(values);
}

bool is_steady(std::span<std::int64_t const> medians) {
    constexpr std::size_t batches = 5;
    if (medians.size() < batches) {
        return false;
    }
    auto const [smallest, largest] = std::minmax_element(medians.end() - batches, medians.end());
    return double(*largest) <= 1.05 * double(*smallest);
}

std::int64_t next_chunk(Rules const &rules, std::int64_t taken, std::int64_t left_ns, std::int64_t sample_ns) {
    if (sample_ns <= 0) {
        return 1; // nothing is known yet
    }
    std::int64_t const aim = taken < rules.min_samples ? rules.min_samples : taken + taken / 2 + 1;
    std::int64_t const wanted = std::min(aim, rules.max_samples) - taken;
    std::int64_t const affordable = left_ns / sample_ns;
    return std::max<std::int64_t>(1, std::min(wanted, affordable));
}

char const *name(EndedBy reason) noexcept {
    switch (reason) {
    case EndedBy::single:
        return "single";
    case EndedBy::precision:
        return "precision";
    case EndedBy::samples:
        return "samples";
    case EndedBy::residual:
        return "residual";
    case EndedBy::budget:
        break;
    }
    return "budget";
}

Decision decide(Rules const &rules, Progress const &progress) {
    if (progress.kept >= rules.min_samples && progress.precise) {
        return {0, EndedBy::precision};
    }
    if (progress.kept >= rules.max_samples) {
        return {0, EndedBy::samples};
    }
    if (progress.left_ns <= 0 && progress.taken > 0) {
        return {0, EndedBy::budget};
    }
    return {next_chunk(rules, progress.kept, progress.left_ns, progress.sample_ns)};
}

} // namespace weft
