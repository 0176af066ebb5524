// SPDX-License-Identifier: BSD-3-Clause
// Samples of several operations in turns.
#include "sample/sampler.hpp"

#include <algorithm>

namespace weft {

void Sampler::warm_in_turns(std::span<Turn const> turns, How how) {
    std::vector<std::string_view> ops;
    for (Turn const &turn : turns) {
        ops.push_back(turn.op);
    }
    std::int64_t const budget_ns = rules_.budget_ns;
    rules_.budget_ns = 2 * budget_ns;
    measure_warm(ops, how, [&](std::int64_t samples, std::int64_t calls) { take_turns(samples, calls, turns); });
    rules_.budget_ns = budget_ns;
}

/// If the sample of any turn started late, the samples of all turns are late.
void Sampler::take_turns(std::int64_t samples, std::int64_t calls, std::span<Turn const> turns) {
    losses_.begin();
    for (std::int64_t i = 0; i < samples; ++i) {
        late_[std::size_t(i)] = Late::no;
        std::int64_t lasted_ns = 0;
        for (std::size_t k = 0; k < turns.size(); ++k) {
            Segment &segment = *open_[k];
            late_[std::size_t(i)] = std::max(late_[std::size_t(i)], begin_together());
            if (turns[k].late_ns > 0) {
                platform::sleep_ns(turns[k].late_ns);
            }
            auto const begin = clock_.now();
            for (std::int64_t c = 0; c < calls; ++c) {
                turns[k].call();
            }
            auto const end = clock_.now();
            segment.rows[std::size_t(segment.count + i)] = {begin, end - begin, losses_.next()};
            lasted_ns = end - begin;
        }
        tell_slow(i + 1, lasted_ns);
    }
}

} // namespace weft
