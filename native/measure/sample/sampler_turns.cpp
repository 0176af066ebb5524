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
    rules_.budget_ns = (how.chunk > 1 ? std::int64_t(turns.size()) : 2) * budget_ns;
    measure_warm(ops, how,
                 [&](std::int64_t samples, std::int64_t calls) { take_turns(samples, calls, turns, how.chunk); });
    rules_.budget_ns = budget_ns;
}

/// If the sample of any turn started late, the samples of all turns are late.
void Sampler::take_turns(std::int64_t samples, std::int64_t calls, std::span<Turn const> turns, std::int64_t chunk) {
    losses_.begin();
    std::fill_n(late_.begin(), samples, Late::no);
    for (std::int64_t first = 0; first < samples; first += chunk) {
        std::int64_t const end = std::min(first + chunk, samples);
        for (std::size_t k = 0; k < turns.size(); ++k) {
            // To and fro, so that none of them always follows the same other one.
            std::size_t const own = chunk > 1 && first / chunk % 2 == 1 ? turns.size() - 1 - k : k;
            take_turn(turns[own], own, first, end, calls);
        }
    }
}

void Sampler::take_turn(Turn const &turn, std::size_t k, std::int64_t first, std::int64_t end, std::int64_t calls) {
    Segment &segment = *open_[k];
    if (turn.enter) {
        turn.enter();
        losses_.begin();
    }
    for (std::int64_t i = first; i < end; ++i) {
        late_[std::size_t(i)] = std::max(late_[std::size_t(i)], begin_together());
        if (turn.late_ns > 0) {
            platform::sleep_ns(turn.late_ns);
        }
        auto const begin = clock_.now();
        for (std::int64_t c = 0; c < calls; ++c) {
            turn.call();
        }
        auto const ended = clock_.now();
        segment.rows[std::size_t(segment.count + i)] = {begin, ended - begin, losses_.next()};
        if (k + 1 == open_.size()) {
            tell_slow(i + 1, ended - begin);
        }
    }
    if (turn.leave) {
        turn.leave();
    }
}

} // namespace weft
