// SPDX-License-Identifier: BSD-3-Clause
#include "recorder.hpp"

namespace weft {

char const *name(Phase phase) noexcept {
    return phase == Phase::cold ? "cold" : "warm";
}

char const *name(EndedBy reason) noexcept {
    switch (reason) {
    case EndedBy::single:
        return "single";
    case EndedBy::precision:
        return "precision";
    case EndedBy::samples:
        return "samples";
    case EndedBy::budget:
        break;
    }
    return "budget";
}

Segment &Recorder::open(std::string_view op, Phase phase, std::int64_t capacity) {
    Segment &segment = segments_.emplace_back();
    segment.op = op;
    segment.phase = phase;
    segment.rows.resize(std::size_t(capacity));
    return segment;
}

std::int64_t Recorder::count() const noexcept {
    std::int64_t rows = 0;
    for (Segment const &segment : segments_) {
        rows += segment.count;
    }
    return rows;
}

std::int64_t Recorder::bytes(std::int64_t operations, Rules const &rules) noexcept {
    constexpr std::int64_t least = 16; // a warm-up batch has to fit, too
    std::int64_t const rows = 1 + (rules.max_samples > least ? rules.max_samples : least);
    // The rows, and the sampler's scratch of durations, collective times and late marks.
    return operations * rows * std::int64_t(sizeof(Row)) + rows * (2 * 8 + 1);
}

} // namespace weft
