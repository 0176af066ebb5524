// SPDX-License-Identifier: BSD-3-Clause
#include "sampler.hpp"

#include <algorithm>
#include <array>

namespace weft {

namespace {

constexpr std::int64_t warmup_batch = 5;
constexpr std::int64_t calibration_samples = 5;
constexpr std::int64_t least_capacity = 16;
constexpr std::int64_t most_calls = 1 << 20;

/// One sample must last this long, or the clock's own error shows (METHOD 7).
std::int64_t least_sample_ns(ClockCost const &cost) {
    return 20 * (cost.resolution_ns + cost.cost_ns);
}

} // namespace

Sampler::Sampler(Team const &team, Clock const &clock, Barrier &start, Rules const &rules, Recorder &recorder,
                 Status &status)
    : team_(team), clock_(clock), start_(start), rules_(rules), recorder_(recorder), status_(status) {
    rules_.min_samples = std::max<std::int64_t>(rules_.min_samples, 1);
    rules_.max_samples = std::max(rules_.max_samples, rules_.min_samples);
}

void Sampler::open(std::span<std::string_view const> ops, Phase phase, std::int64_t capacity, How how) {
    capacity = std::max(capacity, least_capacity);
    open_.clear();
    for (std::string_view const op : ops) {
        open_.push_back(&recorder_.open(op, phase, capacity));
        open_.back()->batch = how.operations;
    }
    late_.assign(std::size_t(capacity), Late::no);
    durations_.assign(std::size_t(capacity), 0);
    collective_.assign(std::size_t(capacity), 0);
}

void Sampler::file_steps(std::int64_t i, std::int64_t begin, std::span<std::int64_t const> ends, std::int64_t end,
                         std::int64_t taint) {
    std::int64_t from = begin;
    for (std::size_t k = 0; k < ends.size(); ++k) {
        Segment &step = *open_[k];
        step.rows[std::size_t(step.count + i)] = {from, ends[k] - from, taint};
        from = ends[k];
    }
    Segment &total = *open_.back();
    total.rows[std::size_t(total.count + i)] = {begin, end - begin, taint};
}

/// Max over ranks of the durations of some rows; on rank 0, elsewhere without meaning.
std::span<std::int64_t> Sampler::collective(Segment const &segment, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        durations_[std::size_t(i)] = segment.rows[std::size_t(first + i)].duration_ns;
    }
    std::span<std::int64_t> const result = std::span(collective_).subspan(std::size_t(first), std::size_t(count));
    check(PMPI_Reduce(durations_.data(), result.data(), int(count), MPI_INT64_T, MPI_MAX, 0, start_.comm()),
          "MPI_Reduce of durations");
    return result;
}

std::int64_t Sampler::agreed(std::int64_t of_rank_0) const {
    check(PMPI_Bcast(&of_rank_0, 1, MPI_INT64_T, 0, start_.comm()), "MPI_Bcast of a decision");
    return of_rank_0;
}

void Sampler::measure_cold(std::span<std::string_view const> ops, How how, Take const &take) {
    status_.set(ops.back(), "cold", "measuring");
    open(ops, Phase::cold, 1, how);
    take(1, 1);
    // The first call happens once: when it started late it is kept, and counted as late.
    std::int64_t const late =
        start_.start() == Start::window ? max_over(start_.comm(), late_[0] != Late::no ? 1 : 0) : 0;
    for (Segment *const segment : open_) {
        segment->count = 1;
        segment->late = late;
        segment->ended_by = EndedBy::single;
    }
    close();
}

void Sampler::measure_warm(std::span<std::string_view const> ops, How how, Take const &take) {
    status_.set(ops.back(), "warm", "warming-up");
    open(ops, Phase::warm, rules_.max_samples, how);
    Course course{.began = clock_.now()};
    warm_up(take, course);
    if (how.batch) {
        calibrate(take, course);
    }
    status_.set(ops.back(), "warm", "measuring");
    course.began_samples = clock_.now();
    std::int64_t next = agreed(team_.rank == 0 ? decide(course) : 0);
    while (next > 0) {
        take(next, course.calls);
        course.taken += next;
        settle(next);
        next = agreed(team_.rank == 0 ? decide(course) : 0);
    }
    for (Segment *const segment : open_) {
        segment->batch = course.calls * how.operations;
        segment->warmup = course.unrecorded * how.operations;
        segment->ended_by = EndedBy(-next);
    }
    close();
}

/// On rank 0: how many samples to take before the next decision; or, below zero, the reason to end.
std::int64_t Sampler::decide(Course const &course) {
    auto const ended = [](EndedBy reason) { return -std::int64_t(reason); };
    std::int64_t const count = open_.back()->count;
    std::vector<std::int64_t> sorted(collective_.begin(), collective_.begin() + count);
    std::sort(sorted.begin(), sorted.end());
    if (count >= rules_.min_samples && is_precise(sorted, rules_.precision)) {
        return ended(EndedBy::precision);
    }
    if (count >= rules_.max_samples) {
        return ended(EndedBy::samples);
    }
    std::int64_t const now = clock_.now();
    std::int64_t const left_ns = rules_.budget_ns - (now - course.began);
    if (left_ns <= 0 && course.taken > 0) {
        return ended(EndedBy::budget);
    }
    std::int64_t const each_ns =
        course.taken > 0 ? (now - course.began_samples) / course.taken : course.operation_ns * course.calls;
    return next_chunk(rules_, count, left_ns, each_ns);
}

/// Takes the chunk into the record: late samples out, the others' collective times to rank 0.
void Sampler::settle(std::int64_t samples) {
    std::int64_t const kept = start_.start() == Start::window ? drop_late(samples) : samples;
    if (kept > 0) {
        collective(*open_.back(), open_.back()->count, kept);
    }
    for (Segment *const segment : open_) {
        segment->count += kept;
        segment->late += samples - kept;
    }
}

/// A sample that began late on any rank is dropped on all.
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

/// Unrecorded calls until their medians settle, but no longer than a fifth of the budget.
void Sampler::warm_up(Take const &take, Course &course) {
    std::vector<std::int64_t> medians;
    std::int64_t batch = rules_.warmup_most > 0 ? 1 : 0;
    while (batch > 0) {
        take(batch, 1);
        course.unrecorded += batch;
        batch = after_warm_up_batch(batch, medians, course);
    }
    course.operation_ns = agreed(course.operation_ns);
}

/// The size of the next batch, 0 to end. The first call is a batch of its own, to size the others: five have to fit
/// into the time there is, and its median counts for nothing.
std::int64_t Sampler::after_warm_up_batch(std::int64_t batch, std::vector<std::int64_t> &medians, Course &course) {
    auto const times = collective(*open_.back(), 0, batch);
    std::int64_t next = 0;
    if (team_.rank == 0) {
        bool const first = course.unrecorded == 1;
        course.operation_ns = median(times);
        if (!first) {
            medians.push_back(course.operation_ns);
        }
        std::int64_t const most_ns = rules_.budget_ns / 5;
        std::int64_t const spent_ns = clock_.now() - course.began;
        std::int64_t const affordable = most_ns / (5 * std::max<std::int64_t>(spent_ns, 1));
        next = first ? std::clamp<std::int64_t>(affordable, 1, warmup_batch) : batch;
        next = std::min(next, rules_.warmup_most - course.unrecorded);
        if (spent_ns >= most_ns || is_steady(medians)) {
            next = 0;
        }
    }
    return agreed(next);
}

/// How many calls make a sample that lasts long enough for the clock.
void Sampler::calibrate(Take const &take, Course &course) {
    std::int64_t const least_ns = least_sample_ns(clock_.cost());
    if (least_ns == 0) {
        return; // an exact clock (in a simulator) can time a call of any length, and each costs seconds there
    }
    auto const last = [&](std::int64_t samples) {
        take(samples, course.calls);
        course.unrecorded += samples * course.calls;
        return agreed(median(collective(*open_.back(), 0, samples)));
    };
    std::int64_t lasted_ns = course.unrecorded > 0 ? course.operation_ns : last(1);
    while (lasted_ns < least_ns && course.calls < most_calls) {
        // A tenth more than enough, or the next measurement falls short again.
        std::int64_t const each_ns = std::max<std::int64_t>(1, (lasted_ns - clock_.cost().cost_ns) / course.calls);
        std::int64_t const enough = (least_ns + least_ns / 10) / each_ns + 1;
        course.calls = std::clamp(enough, std::min(2 * course.calls, most_calls), most_calls);
        lasted_ns = last(calibration_samples);
    }
    course.operation_ns = lasted_ns / course.calls;
}

void Sampler::close() {
    for (Segment *const segment : open_) {
        if (segment->count > 0) {
            segment->median_ns = median(collective(*segment, 0, segment->count));
        }
        bool const one_step = segment->phase == Phase::warm && segment->batch == 1 && segment->count > 0;
        if (one_step && open_.size() > 1 && segment->median_ns < least_sample_ns(clock_.cost())) {
            warnings_.push_back("step " + segment->op + " lasts " + std::to_string(segment->median_ns) +
                                " ns, under 20 times what a clock read costs; measure it apart, or with a larger n");
        }
        segment->rows.resize(std::size_t(segment->count));
        segment->rows.shrink_to_fit();
    }
    open_.clear();
}

} // namespace weft
