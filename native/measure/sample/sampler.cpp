// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sampler.hpp"

#include "mpi/agree.hpp"
#include "sample/batch.hpp"
#include "sample/effective.hpp"
#include "sample/warm_up.hpp"

#include <algorithm>
#include <array>

namespace weft {

namespace {

constexpr std::int64_t calibration_samples = 5;
constexpr std::int64_t least_capacity = 16;

/// Least duration between two clock reads for which the clock's own error is negligible (METHOD 7).
std::int64_t least_lap_ns(ClockCost const &cost) {
    return 20 * (cost.resolution_ns + cost.cost_ns);
}

} // namespace

Sampler::Sampler(Team const &team, Clock const &clock, Barrier &start, Rules const &rules, Recorder &recorder,
                 Status &status, Losses const &losses)
    : team_(team), clock_(clock), start_(start), rules_(rules), recorder_(recorder), status_(status), losses_(losses) {
    rules_.min_samples = std::max<std::int64_t>(rules_.min_samples, 1);
    rules_.max_samples = std::max(rules_.max_samples, rules_.min_samples);
}

void Sampler::open(std::span<std::string_view const> ops, Phase phase, std::int64_t capacity, How how) {
    capacity = std::max(capacity, least_capacity);
    losses();
    open_.clear();
    for (std::string_view const op : ops) {
        open_.push_back(&recorder_.open(op, phase, capacity));
        open_.back()->batch = how.operations;
        open_.back()->of_one_rank = how.of_one_rank;
    }
    late_.assign(std::size_t(capacity), Late::no);
    durations_.assign(std::size_t(capacity), 0);
    collective_.assign(std::size_t(capacity), 0);
    begins_.assign(std::size_t(capacity), 0);
    spans_.assign(std::size_t(capacity), 0);
    lost_.assign(std::size_t(capacity), 0);
}

void Sampler::record_steps(std::int64_t i, std::int64_t begin, std::span<std::int64_t const> ends, std::int64_t end,
                           std::int64_t lost) {
    std::int64_t from = begin;
    for (std::size_t k = 0; k < ends.size(); ++k) {
        Segment &step = *open_[k];
        step.rows[std::size_t(step.count + i)] = {from, ends[k] - from, lost};
        from = ends[k];
    }
    Segment &total = *open_.back();
    total.rows[std::size_t(total.count + i)] = {begin, end - begin, lost};
}

/// On rank 0: whether the times that will be reported are precise (METHOD 8).
bool Sampler::is_settled_so_far() {
    Segment &segment = *open_.back();
    auto const count = std::size_t(segment.count);
    std::vector<std::int64_t> sorted(collective_.begin(), collective_.begin() + segment.count);
    segment.median_ns = median(sorted);
    auto const &reported = definition_of(segment, clock_) == Definition::global ? spans_ : collective_;
    return is_settled(std::span(reported).first(count), std::span(lost_).first(count), rules_.precision);
}

void Sampler::settle_definitions() noexcept {
    for (Segment &segment : recorder_.segments()) {
        bool const by_precision = segment.ended_by == EndedBy::precision;
        bool const changed = segment.judged && *segment.judged != definition_of(segment, clock_);
        if (by_precision && changed && !segment.settled_locally) {
            segment.ended_by = EndedBy::residual;
        }
    }
}

std::int64_t Sampler::agreed(std::int64_t of_rank_0) const {
    check(PMPI_Bcast(&of_rank_0, 1, MPI_INT64_T, 0, start_.comm()), "MPI_Bcast of a decision");
    return of_rank_0;
}

void Sampler::measure_warm(std::span<std::string_view const> ops, How how, Take const &take) {
    if (once_warm_) {
        std::exchange(once_warm_, nullptr)();
    }
    status_.set(ops.back(), "warm", "warming-up");
    open(ops, Phase::warm, std::max(rules_.max_samples, how.exactly), how);
    Timing timing{.began = clock_.now()};
    warm_up(take, timing);
    if (how.batch) {
        calibrate(take, timing);
    }
    status_.set(ops.back(), "warm", "measuring");
    calls_ = timing.calls * how.operations;
    losses_.open_window();
    timing.began_samples = clock_.now();
    auto const next_or_end = [&] {
        if (how.exactly > 0) {
            return timing.taken == 0 ? how.exactly : -std::int64_t(EndedBy::samples);
        }
        return agreed(team_.rank == 0 ? next_chunk_or_end(timing, how.least_ns) : 0);
    };
    std::int64_t next = next_or_end();
    while (next > 0) {
        take(next, timing.calls);
        timing.taken += next;
        record_chunk(next);
        tell(0);
        next = next_or_end();
    }
    calls_ = 0;
    for (Segment *const segment : open_) {
        segment->batch = timing.calls * how.operations;
        segment->warmup = timing.unrecorded * how.operations;
        segment->ended_by = EndedBy(-next);
    }
    close(how);
}

/// On rank 0: the number of samples before the next decision; if negative, the reason to end.
std::int64_t Sampler::next_chunk_or_end(Timing const &timing, std::int64_t least_ns) {
    std::int64_t const count = open_.back()->count;
    std::int64_t const now = clock_.now();
    bool const long_enough = now - timing.began_samples >= least_ns;
    Decision const next = decide(rules_, {.kept = count,
                                          .taken = timing.taken,
                                          .precise = count > 0 && long_enough && is_settled_so_far(),
                                          .left_ns = rules_.budget_ns - (now - timing.began),
                                          .sample_ns = timing.taken > 0 ? (now - timing.began_samples) / timing.taken
                                                                        : timing.pass_ns * timing.calls});
    return next.samples > 0 ? next.samples : -std::int64_t(next.ended_by);
}

/// Adds the chunk to the record: drops late samples, and reduces the collective times of the others to rank 0.
void Sampler::record_chunk(std::int64_t samples) {
    std::int64_t const kept = start_.start() == Start::window ? drop_late(samples) : samples;
    std::int64_t const before = open_.back()->count;
    for (Segment *const segment : open_) {
        segment->count += kept;
        segment->late += samples - kept;
    }
    bool const closed = losses_.add(start_.comm(), open_, kept);
    if (kept > 0) {
        collective(*open_.back(), before, kept);
        find_spans(*open_.back(), before, kept);
    }
    std::int64_t const first = closed ? 0 : before; // a window that closes holds earlier chunks, too
    find_losses(*open_.back(), first, open_.back()->count - first);
}

/// Drops samples that started late on any rank, on all ranks.
std::int64_t Sampler::drop_late(std::int64_t samples) {
    check(PMPI_Allreduce(MPI_IN_PLACE, late_.data(), int(samples), MPI_UINT8_T, MPI_MAX, start_.comm()),
          "MPI_Allreduce of late starts");
    std::int64_t kept = 0;
    std::int64_t arrived_late = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
        arrived_late += late_[std::size_t(i)] == Late::arrived ? 1 : 0;
        if (late_[std::size_t(i)] != Late::no) {
            continue;
        }
        for (Segment *const segment : open_) {
            segment->rows[std::size_t(segment->count + kept)] = segment->rows[std::size_t(segment->count + i)];
        }
        ++kept;
    }
    start_.learn(samples, arrived_late);
    return kept;
}

/// Unrecorded calls; rank 0 decides how many.
void Sampler::warm_up(Take const &take, Timing &timing) {
    WarmUp warm_up(rules_.warmup_most, rules_.budget_ns);
    std::vector<std::int64_t> medians;
    for (std::int64_t batch = warm_up.batch(); batch > 0; batch = agreed(warm_up.batch())) {
        take(batch, 1);
        timing.unrecorded += batch;
        auto const times = collective(*open_.back(), 0, batch);
        if (team_.rank == 0) {
            timing.operation_ns = median(times);
            if (!warm_up.first()) {
                medians.push_back(timing.operation_ns);
            }
            timing.pass_ns = (clock_.now() - timing.began) / timing.unrecorded;
            warm_up.ran(clock_.now() - timing.began, is_steady(medians));
        }
    }
    timing.operation_ns = agreed(timing.operation_ns);
}

/// Sets the number of calls with which a sample is long enough for the clock.
void Sampler::calibrate(Take const &take, Timing &timing) {
    std::int64_t const least_ns = least_sample_ns();
    if (least_ns == 0) {
        return; // an exact clock (in a simulator) can time a call of any length, and each call takes seconds there
    }
    if (auto const decided = batches_.of(open_.back()->op)) {
        timing.calls = *decided;
        return;
    }
    auto const lasted = [&](std::int64_t samples, std::int64_t calls) {
        take(samples, calls);
        timing.unrecorded += samples * calls;
        return agreed(median(collective(*open_.back(), 0, samples)));
    };
    std::int64_t const one_call_ns = timing.unrecorded > 0 ? timing.operation_ns : lasted(1, 1);
    Batch const batch = calibrated(one_call_ns, least_ns, clock_.cost(),
                                   [&](std::int64_t calls) { return lasted(calibration_samples, calls); });
    timing.calls = batch.calls;
    timing.operation_ns = batch.lasted_ns / batch.calls;
    batches_.decide(open_.back()->op, batch.calls);
}

std::int64_t Sampler::least_sample_ns() {
    ClockCost const &cost = clock_.cost();
    std::int64_t const by_clock_ns = least_lap_ns(cost);
    if (by_clock_ns == 0) {
        return 0;
    }
    std::int64_t const by_skew_ns = 20 * (cost.resolution_ns + cost.cost_ns + start_.skew_ns());
    return std::max(by_clock_ns, std::min(by_skew_ns, rules_.budget_ns / 100));
}

/// An earlier launch chose the batch; the machine may be different now.
void Sampler::warn_of_short_samples(Segment const &segment) {
    std::int64_t const least_ns = least_lap_ns(clock_.cost());
    if (team_.rank == 0 && segment.phase == Phase::warm && batches_.of(segment.op) &&
        2 * segment.median_ns < least_ns) {
        warnings_.push_back("batches of " + segment.op + " last " + std::to_string(segment.median_ns) +
                            " ns, as an earlier launch decided, and should last " + std::to_string(least_ns) +
                            " ns; measure anew with --into DIR");
    }
}

void Sampler::close(How how) {
    bool const laps = open_.size() > 1 && !how.batch; // steps of one run: they have no separate start
    for (Segment *const segment : open_) {
        if (segment->count > 0) {
            auto const times = collective(*segment, 0, segment->count);
            segment->settled_locally =
                team_.rank == 0 && is_settled(times, std::span(lost_).first(times.size()), rules_.precision);
            segment->median_ns = median(times);
            segment->judged = definition_of(*segment, clock_);
        }
        warn_of_short_samples(*segment);
        bool const one_step = segment->phase == Phase::warm && segment->batch == 1 && segment->count > 0;
        if (one_step && laps && segment->median_ns < least_lap_ns(clock_.cost())) {
            warnings_.push_back("step " + segment->op + " lasts " + std::to_string(segment->median_ns) +
                                " ns, under 20 times what a clock read costs; measure it apart, or with a larger n");
        }
        segment->rows.resize(std::size_t(segment->count));
        segment->rows.shrink_to_fit();
    }
    open_.clear();
}

} // namespace weft
