// SPDX-License-Identifier: BSD-3-Clause
// What whoever watches sees of the samples so far.
#include "sample/effective.hpp"
#include "sample/sampler.hpp"
#include "sample/stop_rule.hpp"

namespace weft {

void Sampler::tell(std::int64_t taken) {
    if (team_.rank != 0 || calls_ == 0 || !status_.live().due()) {
        return; // warm-up and calibration are no samples
    }
    Segment const &segment = *open_.back();
    told_.assign(collective_.begin(), collective_.begin() + segment.count);
    for (std::int64_t i = segment.count; i < segment.count + taken; ++i) {
        told_.push_back(segment.rows[std::size_t(i)].duration_ns);
    }
    Glimpse glimpse{.cell = status_.of_cell(), .op = segment.op, .batch = calls_};
    if (auto const found = median_so_far(told_)) {
        glimpse.median_ns = found->median_ns;
        glimpse.low_ns = found->low_ns;
        glimpse.high_ns = found->high_ns;
    } else {
        std::vector<std::int64_t> unsorted = told_;
        glimpse.median_ns = median(unsorted);
    }
    status_.live().write(glimpse, told_);
}

} // namespace weft
