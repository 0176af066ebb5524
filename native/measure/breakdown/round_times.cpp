// SPDX-License-Identifier: BSD-3-Clause
#include "breakdown/round_times.hpp"

#include "sample/stop_rule.hpp"

#include <algorithm>

namespace weft {

void RoundTimes::record(Segment &segment) const {
    auto const kept = std::size_t(std::min<std::int64_t>(runs_, runs_kept));
    std::vector<std::int64_t> durations(kept);
    segment.of_one_rank = true; // each rank begins a round when it is ready
    segment.ended_by = EndedBy::samples;
    segment.count = kept > 0 ? std::int64_t(rounds_) : 0;
    for (std::size_t round = 0; kept > 0 && round < rounds_; ++round) {
        for (std::size_t run = 0; run < kept; ++run) {
            std::size_t const end = run * rounds_ + round;
            durations[run] = ends_[end] - (round > 0 ? ends_[end - 1] : begins_[run]);
        }
        segment.rows[round] = {begins_.front(), median(durations), 0};
    }
    segment.rows.resize(std::size_t(segment.count));
}

} // namespace weft
