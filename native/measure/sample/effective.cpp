// SPDX-License-Identifier: BSD-3-Clause
#include "sample/effective.hpp"

#include "sample/stop_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace weft {

namespace {

/// Rank of each value among all, from 0; equal values share the mean of their ranks.
std::vector<double> mean_ranks(std::span<std::int64_t const> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t end = first + 1;
        while (end < order.size() && values[order[end]] == values[order[first]]) {
            ++end;
        }
        for (std::size_t k = first; k < end; ++k) {
            ranks[order[k]] = 0.5 * double(first + end - 1);
        }
        first = end;
    }
    return ranks;
}

} // namespace

double lag_1_correlation(std::span<std::int64_t const> in_order) {
    std::size_t const n = in_order.size();
    if (n < 3) {
        return 0;
    }
    std::vector<double> const ranks = mean_ranks(in_order);
    double const mean = 0.5 * double(n - 1);
    double squares = 0;
    double products = 0;
    for (std::size_t i = 0; i < n; ++i) {
        squares += (ranks[i] - mean) * (ranks[i] - mean);
        products += i > 0 ? (ranks[i] - mean) * (ranks[i - 1] - mean) : 0;
    }
    if (squares == 0) {
        return 0;
    }
    double const biased = products / squares;
    return std::clamp(biased + (1 + 3 * biased) / double(n), -1.0, 1.0);
}

double effective_samples(std::span<std::int64_t const> in_order) {
    auto const n = double(in_order.size());
    double const r = lag_1_correlation(in_order);
    return r <= 0 ? n : std::max(std::min(n, 1.0), n * (1 - r) / (1 + r));
}

std::optional<MedianSoFar> median_so_far(std::span<std::int64_t const> in_order) {
    double const effective = effective_samples(in_order);
    auto const ranks = median_ranks(std::int64_t(effective));
    if (!ranks) {
        return std::nullopt;
    }
    // The order statistics of all samples at the quantiles of those of the effective samples.
    std::vector<std::int64_t> sorted(in_order.begin(), in_order.end());
    std::sort(sorted.begin(), sorted.end());
    double const share = double(ranks->low) / (std::floor(effective) + 1);
    auto const low = std::max<std::size_t>(1, std::size_t(share * double(sorted.size() + 1) + 1e-9));
    return MedianSoFar{effective, median_of_sorted(sorted), sorted[low - 1], sorted[sorted.size() - low], low};
}

bool is_settled(std::span<std::int64_t const> in_order, std::span<std::int64_t const> lost_ns, double precision) {
    auto const found = median_so_far(in_order);
    if (!found || found->effective < least_effective_samples) {
        return false;
    }
    std::int64_t low_ns = found->low_ns;
    if (!lost_ns.empty()) {
        std::vector<std::int64_t> least(in_order.begin(), in_order.end());
        for (std::size_t i = 0; i < least.size(); ++i) {
            least[i] = std::max<std::int64_t>(0, least[i] - lost_ns[i]);
        }
        std::nth_element(least.begin(), least.begin() + std::ptrdiff_t(found->low_rank - 1), least.end());
        low_ns = least[found->low_rank - 1];
    }
    auto const middle = double(found->median_ns);
    return double(low_ns) >= middle * (1 - precision) && double(found->high_ns) <= middle * (1 + precision);
}

} // namespace weft
