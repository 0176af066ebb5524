// SPDX-License-Identifier: BSD-3-Clause
#include "sample/recorder.hpp"

namespace weft {

char const *name(LostBy how) noexcept {
    switch (how) {
    case LostBy::delay:
        return "delay";
    case LostBy::others:
        return "others";
    case LostBy::switches:
        break;
    }
    return "switches";
}

char const *name(Phase phase) noexcept {
    return phase == Phase::cold ? "cold" : "warm";
}

char const *name(Definition definition) noexcept {
    return definition == Definition::global ? "global" : "local";
}

Definition definition_of(Segment const &segment, Clock const &clock) noexcept {
    bool const known = clock.shared() || 10 * clock.residual_ns() < segment.median_ns;
    return known && !segment.of_one_rank ? Definition::global : Definition::local;
}

std::vector<std::int64_t> durations_of(std::span<Row const> rows) {
    std::vector<std::int64_t> durations;
    for (Row const &row : rows) {
        durations.push_back(row.duration_ns);
    }
    return durations;
}

Segment &Recorder::open(std::string_view op, Phase phase, std::int64_t capacity, Columns const &columns) {
    Segment &segment = segments_.emplace_back();
    segment.op = op;
    segment.phase = phase;
    segment.columns = columns;
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
    constexpr std::int64_t least = 16; // a warm-up batch must fit, too
    std::int64_t const rows = 1 + (rules.max_samples > least ? rules.max_samples : least);
    // The rows, and the sampler's scratch: of a reduction, longest durations, first starts, spans, losses and late
    // marks.
    return operations * rows * std::int64_t(sizeof(Row)) + rows * (5 * 8 + 1);
}

} // namespace weft
