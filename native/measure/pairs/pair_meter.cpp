// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_meter.hpp"

#include "pairs/pair_exchange.hpp"
#include "sample/batch.hpp"
#include "sample/effective.hpp"
#include "sample/warm_up.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft {

namespace {

constexpr std::int64_t pair_calibration_samples = 3;
constexpr std::int64_t room_at_least = 16;

/// A sample includes a clock read on either side: both together under 1 % of it, and other overheads under 2 %.
std::int64_t least_ping_pong_ns(ClockCost const &cost) {
    return 300 * (cost.resolution_ns + cost.cost_ns);
}

/// A round trip of this length is not affected by the system call before it.
std::int64_t settled_ns(ClockCost const &cost) {
    return 2 * least_ping_pong_ns(cost);
}

} // namespace

PairMeter::PairMeter(Cell &cell, PairTurns &turns, std::vector<PairMode> modes, bool raw)
    : cell_(cell), team_(cell.team()), turns_(turns), forwards_(PairForwards::make(cell)), rules_(cell.rules()),
      raw_(raw) {
    rules_.min_samples = std::max<std::int64_t>(rules_.min_samples, 1);
    rules_.max_samples = std::max(rules_.max_samples, rules_.min_samples);
    auto const room = std::size_t(std::max(rules_.max_samples, room_at_least));
    for (PairMode const mode : modes) {
        series_.push_back({mode, "", std::vector<Row>(room), std::vector<Answer>(room), {}, 0, {}});
    }
    cell.sampler().losses().open_window();
}

void PairMeter::measure(PairRound const &round, PingPong const &ping) {
    for (Series &series : series_) {
        series.op =
            std::string(name(series.mode)) + ".r" + std::to_string(round.number) + "@" + std::to_string(ping.bytes());
        series.count = 0;
        series.batches.clear();
        series.theirs.clear();
        std::fill(series.rows.begin(), series.rows.end(), Row{});
    }
    Status &status = cell_.sampler().status();
    status.set(series_.back().op, "cold", "measuring");
    met_ = false;
    first_contact(round, ping);
    status.set(series_.back().op, "warm", "measuring");
    Timing timing{.began = cell_.sampler().clock().now(), .budget_ns = turns_of(round) * rules_.budget_ns};
    warm_up(round, ping, timing);
    calibrate(round, ping, timing);
    sample(round, ping, timing);
    for (Series &series : series_) {
        record(series, round, ping, timing);
    }
}

/// The budget is per pair: the total is the budget times the number of turns.
std::int64_t PairMeter::turns_of(PairRound const &round) const {
    std::int64_t turns = 0;
    for (Series const &series : series_) {
        turns += series.mode == PairMode::isolated ? std::int64_t(round.pairs.size())
                 : series.mode == PairMode::node   ? std::int64_t(round.once.size())
                                                   : 1;
    }
    return turns;
}

void PairMeter::take(PairRound const &round, PingPong const &ping, std::int64_t samples, Trips trips) {
    for (Series &series : series_) {
        auto const rows = std::span(series.rows).subspan(std::size_t(series.count), std::size_t(samples));
        auto const answers = std::span(series.answers).subspan(std::size_t(series.count), std::size_t(samples));
        last_sent_ns_ = take_series(team_, turns_, round, ping, {series.mode, trips, rows, answers, met_});
    }
}

void PairMeter::first_contact(PairRound const &round, PingPong const &ping) {
    if (platform::one_clock()) {
        return; // a simulator has no connections to set up
    }
    turns_.let_sleep(false);
    take(round, ping, 1, {});
    turns_.let_sleep(true);
    met_ = true;
    for (Series &series : series_) {
        swap_answers(team_, round.partner, std::span(series.answers).first(1), series.rows);
        Segment &segment = cell_.sampler().recorder().open(series.op, Phase::cold, 1);
        segment.rows[0] = series.rows[0];
        segment.count = 1;
        segment.batch = ping.legs();
    }
}

/// True if all ranks agree. Updates the elapsed time, to the same value on every rank.
bool PairMeter::all_agree(bool mine, Timing &timing) {
    cell_.check_clock();
    std::int64_t const now = cell_.sampler().clock().now();
    std::array<std::int64_t, 2> word{mine ? 0 : 1, now - timing.began};
    check(PMPI_Allreduce(MPI_IN_PLACE, word.data(), 2, MPI_INT64_T, MPI_MAX, team_.comm), "MPI_Allreduce of a verdict");
    timing.elapsed_ns = word[1];
    return word[0] == 0;
}

/// Whether the medians of the warm-up's batches are steady, including this one.
bool PairMeter::steady(std::int64_t batch) {
    bool all = true;
    for (Series &series : series_) {
        auto durations = durations_of(std::span(series.rows).first(std::size_t(batch)));
        series.batches.push_back(median(durations));
        all = all && is_steady(series.batches);
    }
    return all;
}

/// Unrecorded round trips, until the medians of all pairs are steady.
void PairMeter::warm_up(PairRound const &round, PingPong const &ping, Timing &timing) {
    bool const idle = round.partner < 0;
    WarmUp warm_up(rules_.warmup_most, timing.budget_ns);
    while (warm_up.batch() > 0) {
        timing.batch = warm_up.batch();
        take(round, ping, timing.batch, {});
        bool const mine = idle || (!warm_up.first() && steady(timing.batch));
        bool const all = all_agree(mine, timing);
        warm_up.ran(timing.elapsed_ns, all);
    }
    timing.unrecorded = warm_up.operations();
}

/// Sets the round trips per sample, so that a sample of the fastest pair of the round is long enough for the clock.
void PairMeter::calibrate(PairRound const &round, PingPong const &ping, Timing &timing) {
    ClockCost const &cost = cell_.sampler().clock().cost();
    std::int64_t const least_ns = least_ping_pong_ns(cost);
    if (least_ns == 0) {
        return; // reading a simulated clock takes no time
    }
    auto const lasted = [&](std::int64_t calls) {
        take(round, ping, pair_calibration_samples, {.timed = calls, .lead = true});
        timing.unrecorded += pair_calibration_samples * calls;
        return fastest(round, pair_calibration_samples, settled_ns(cost));
    };
    std::int64_t const one_trip_ns = timing.unrecorded > 0 ? fastest(round, timing.batch, settled_ns(cost)) : lasted(1);
    BatchBook &book = cell_.sampler().batches();
    std::string const &op = series_.back().op; // all series take the same
    auto const decided = book.of(op);          // by the first launch, for all of them (METHOD 7)
    Batch const batch = decided ? Batch{*decided, lasted(*decided)} : calibrated(one_trip_ns, least_ns, cost, lasted);
    book.decide(op, batch.calls);
    if (2 * batch.lasted_ns < least_ns && !std::exchange(has_warned_, true)) {
        cell_.warn("batches of " + op + " last " + std::to_string(batch.lasted_ns) +
                   " ns, as an earlier launch decided, and should last " + std::to_string(least_ns) +
                   " ns; measure anew with --into DIR");
    }
    timing.trips = {.timed = batch.calls, .lead = batch.lasted_ns < settled_ns(cost)};
}

/// The smallest median of any pair over the first rows; at most `most_ns`.
std::int64_t PairMeter::fastest(PairRound const &round, std::int64_t samples, std::int64_t most_ns) const {
    std::int64_t mine = most_ns;
    for (Series const &series : series_) {
        auto durations = durations_of(std::span(series.rows).first(std::size_t(samples)));
        if (round.partner >= 0) {
            mine = std::min(mine, median(durations));
        }
    }
    return std::max<std::int64_t>(min_over(team_.comm, mine), 1);
}

/// Whether the times of this rank's pings are precise (METHOD 8), whatever both ends lost (METHOD 11).
bool PairMeter::is_settled_here() const {
    LostBy const how = cell_.sampler().recorder().lost_by();
    return std::all_of(series_.begin(), series_.end(), [&](Series const &series) {
        auto const rows = std::span(series.rows).first(std::size_t(series.count));
        std::vector<std::int64_t> lost;
        for (Row const &row : rows) {
            lost.push_back(most_lost_ns(row, how));
        }
        return is_settled(durations_of(rows), lost, rules_.precision);
    });
}

/// The progress of the sampling; the same on every rank.
Progress PairMeter::progress(Timing const &timing, std::int64_t taken, bool precise) const {
    std::int64_t sample_ns = 0;
    if (taken > 0) {
        sample_ns = (timing.elapsed_ns - timing.began_samples) / taken;
    } else if (timing.unrecorded > 0) { // estimated from the warm-up
        sample_ns = timing.trips.timed * timing.elapsed_ns / timing.unrecorded;
    }
    return {taken, taken, precise, timing.budget_ns - timing.elapsed_ns, sample_ns};
}

void PairMeter::sample(PairRound const &round, PingPong const &ping, Timing &timing) {
    bool const fixed = rules_.min_samples == rules_.max_samples; // in a simulator: no decision is needed
    timing.began_samples = timing.elapsed_ns;
    Decision next{rules_.min_samples};
    if (!fixed) {
        next = decide(rules_, progress(timing, 0, false));
    }
    std::int64_t taken = 0;
    while (next.samples > 0) {
        take(round, ping, next.samples, timing.trips);
        for (Series &series : series_) {
            auto const first = std::size_t(taken);
            auto const count = std::size_t(next.samples);
            auto const theirs = swap_answers(team_, round.partner, std::span(series.answers).subspan(first, count),
                                             std::span(series.rows).subspan(first, count));
            series.theirs.insert(series.theirs.end(), theirs.begin(), theirs.end());
            series.count = taken + next.samples;
        }
        taken += next.samples;
        if (fixed) {
            next = {0, EndedBy::samples};
        } else {
            bool const enough = all_agree(round.partner < 0 || is_settled_here(), timing);
            next = decide(rules_, progress(timing, taken, enough));
        }
    }
    timing.ended_by = next.ended_by;
}

} // namespace weft
