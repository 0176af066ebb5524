// SPDX-License-Identifier: BSD-3-Clause
// A sampler with a clock that the measured call advances, so that every duration is known.
#pragma once

#include "sample/sampler.hpp"

inline std::int64_t fake_ns = 0;
inline std::int64_t fake_read_ns = 0; // cost of a read

inline std::int64_t fake_delay_ns = 0;
inline std::int64_t fake_faults = 0;
inline std::int64_t fake_readings = 0; // of the counters

inline std::int64_t fake_now() noexcept {
    return fake_ns += fake_read_ns;
}

/// The measured calls say how often they were disturbed: nothing else does it.
inline weft::platform::Usage fake_usage() noexcept {
    ++fake_readings;
    return {fake_delay_ns, 0, fake_faults};
}

/// A harness around one sampler.
struct Bench {
    explicit Bench(weft::Rules const &rules, weft::Now now = fake_now, weft::Start start = weft::Start::barrier)
        : clock(team, now), barrier(team, clock, start),
          sampler(team, clock, barrier, rules, recorder, status, weft::Losses(fake_usage, INT64_MAX)) {}

    weft::Segment const &last() const { return recorder.segments().back(); }

    weft::Team team = weft::make_team(MPI_COMM_WORLD, 0);
    weft::Clock clock;
    weft::Barrier barrier;
    weft::Recorder recorder;
    weft::Status status;
    weft::Sampler sampler;
};

inline weft::Rules const rules{
    .precision = 0.05, .min_samples = 10, .max_samples = 100, .warmup_most = 50, .budget_ns = 1'000'000'000'000};

/// Whether the value is the same on every rank.
inline bool is_agreed(weft::Team const &team, std::int64_t value) {
    return weft::min_over(team.comm, value) == weft::max_over(team.comm, value);
}

inline void reset_clock(std::int64_t read_ns = 0) {
    fake_ns = 0;
    fake_read_ns = read_ns;
    fake_delay_ns = fake_faults = 0;
}
