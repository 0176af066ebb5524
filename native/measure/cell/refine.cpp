// SPDX-License-Identifier: BSD-3-Clause
#include "cell/refine.hpp"

#include <cmath>

namespace weft {

namespace {

/// The size at the geometric mean, a multiple of `multiple` strictly between the two; nothing if there is none.
std::optional<std::int64_t> middle(std::int64_t low, std::int64_t high, RefineRules const &rules) {
    if (low < 1 || std::log2(double(high) / double(low)) <= 1.001 * rules.octave_share) {
        return std::nullopt;
    }
    std::int64_t const steps = std::llround(std::sqrt(double(low) * double(high)) / double(rules.multiple));
    std::int64_t const size = steps * rules.multiple;
    return low < size && size < high ? std::optional(size) : std::nullopt;
}

} // namespace

double deviation(std::span<SizePoint const> sweep, std::size_t k) {
    if (k == 0 || k + 1 >= sweep.size() || sweep[k - 1].bytes < 1) {
        return 0;
    }
    SizePoint const &low = sweep[k - 1];
    SizePoint const &high = sweep[k + 1];
    if (!(low.seconds > 0 && sweep[k].seconds > 0 && high.seconds > 0)) {
        return 0; // a simulated time may be 0
    }
    double const share =
        std::log(double(sweep[k].bytes) / double(low.bytes)) / std::log(double(high.bytes) / double(low.bytes));
    double const line = std::log(low.seconds) + share * std::log(high.seconds / low.seconds);
    return std::abs(std::log(sweep[k].seconds) - line);
}

std::optional<std::int64_t> next_size(std::span<SizePoint const> sweep, RefineRules const &rules) {
    double const least = std::log1p(rules.tolerance);
    double worst = 0;
    std::optional<std::int64_t> chosen;
    for (std::size_t k = 0; k + 1 < sweep.size(); ++k) {
        double const low_end = deviation(sweep, k);
        double const high_end = deviation(sweep, k + 1);
        if (std::fmax(low_end, high_end) <= least || low_end + high_end <= worst) {
            continue;
        }
        if (auto const size = middle(sweep[k].bytes, sweep[k + 1].bytes, rules)) {
            worst = low_end + high_end;
            chosen = size;
        }
    }
    return chosen;
}

} // namespace weft
