// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_meter.hpp"

#include "pairs/pair_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {

namespace {

constexpr std::int64_t pair_warmup_batch = 5;
constexpr std::int64_t pair_calibration_samples = 3;
constexpr std::int64_t room_at_least = 16;
constexpr std::int64_t most_round_trips = 1 << 20;

/// A sample holds a clock read of either side: both under 1 % of it, and what else surrounds one under 2 %.
std::int64_t least_ping_pong_ns(ClockCost const &cost) {
    return 300 * (cost.resolution_ns + cost.cost_ns);
}

/// A round trip as long as this does not feel the system call before it.
std::int64_t settled_ns(ClockCost const &cost) {
    return 2 * least_ping_pong_ns(cost);
}

std::vector<std::int64_t> durations_of(std::span<Row const> rows) {
    std::vector<std::int64_t> durations;
    for (Row const &row : rows) {
        durations.push_back(row.duration_ns);
    }
    return durations;
}

} // namespace

PairMeter::PairMeter(Cell &cell, PairTurns &turns, std::vector<Crowd> crowds, bool raw)
    : cell_(cell), team_(cell.team()), turns_(turns), rules_(cell.rules()), raw_(raw) {
    rules_.min_samples = std::max<std::int64_t>(rules_.min_samples, 1);
    rules_.max_samples = std::max(rules_.max_samples, rules_.min_samples);
    auto const room = std::size_t(std::max(rules_.max_samples, room_at_least));
    for (Crowd const crowd : crowds) {
        streams_.push_back({crowd, "", std::vector<Row>(room), std::vector<std::int64_t>(room), 0, {}});
    }
}

void PairMeter::measure(PairRound const &round, PingPong const &ping) {
    for (Stream &stream : streams_) {
        stream.op =
            std::string(name(stream.crowd)) + ".r" + std::to_string(round.number) + "@" + std::to_string(ping.bytes());
        stream.count = 0;
        stream.batches.clear();
        std::fill(stream.rows.begin(), stream.rows.end(), Row{});
    }
    Status &status = cell_.sampler().status();
    status.set(streams_.back().op, "cold", "measuring");
    met_ = false;
    first_contact(round, ping);
    status.set(streams_.back().op, "warm", "measuring");
    Course course{.began = cell_.sampler().clock().now(), .budget_ns = turns_of(round) * rules_.budget_ns};
    warm_up(round, ping, course);
    calibrate(round, ping, course);
    sample(round, ping, course);
    for (Stream &stream : streams_) {
        record(stream, round, ping, course);
    }
}

/// The budget is that of one pair: as many turns as there are, as many budgets.
std::int64_t PairMeter::turns_of(PairRound const &round) const {
    std::int64_t turns = 0;
    for (Stream const &stream : streams_) {
        turns += stream.crowd == Crowd::isolated ? std::int64_t(round.pairs.size())
                 : stream.crowd == Crowd::node   ? std::int64_t(round.once.size())
                                                 : 1;
    }
    return turns;
}

/// Both ranks of a pair begin in turn; the higher one last, so that it knows when both are through.
void PairMeter::take(PairRound const &round, PingPong const &ping, std::int64_t samples, Trips trips) {
    bool const simulated = platform::one_clock();
    bool const warm = met_;
    for (Stream &stream : streams_) {
        auto const rows = std::span(stream.rows).subspan(std::size_t(stream.count), std::size_t(samples));
        auto const arrivals = std::span(stream.arrivals).subspan(std::size_t(stream.count), std::size_t(samples));
        turns_.take(stream.crowd, round, [&](int partner) {
            bool const low = team_.rank < partner;
            if (warm && !simulated) {
                ping.wake(partner, low); // whoever has slept needs a while
            }
            for (bool const initiates : {low, !low}) {
                if (simulated) {
                    ping.meet(partner, initiates);
                }
                if (initiates) {
                    ping.initiate(partner, trips, rows);
                } else {
                    ping.respond(partner, trips, arrivals);
                }
            }
        });
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
    for (Stream &stream : streams_) {
        Segment &segment = cell_.sampler().recorder().open(stream.op, Phase::cold, 1);
        segment.rows[0] = stream.rows[0];
        segment.count = 1;
        segment.batch = 2;
    }
}

/// True when all ranks say so. Refreshes the time that has passed, to the same value on every rank.
bool PairMeter::all_agree(bool mine, Course &course) {
    std::int64_t const now = cell_.sampler().clock().now();
    std::array<std::int64_t, 2> word{mine ? 0 : 1, now - course.began};
    check(PMPI_Allreduce(MPI_IN_PLACE, word.data(), 2, MPI_INT64_T, MPI_MAX, team_.comm), "MPI_Allreduce of a verdict");
    course.elapsed_ns = word[1];
    return word[0] == 0;
}

bool PairMeter::steady(std::int64_t batch) {
    bool all = true;
    for (Stream &stream : streams_) {
        auto durations = durations_of(std::span(stream.rows).first(std::size_t(batch)));
        stream.batches.push_back(median(durations));
        all = all && is_steady(stream.batches);
    }
    return all;
}

/// Round trips nobody keeps, until the medians of all pairs have settled; no longer than a fifth of the budget.
void PairMeter::warm_up(PairRound const &round, PingPong const &ping, Course &course) {
    bool const idle = round.partner < 0;
    while (course.unrecorded < rules_.warmup_most) {
        // the first one sizes the others: five have to fit into the time there is
        bool const affordable = course.unrecorded > 0 && 25 * course.elapsed_ns < course.budget_ns;
        std::int64_t const batch = std::min(affordable ? pair_warmup_batch : 1, rules_.warmup_most - course.unrecorded);
        take(round, ping, batch, {});
        course.unrecorded += batch;
        course.batch = batch;
        bool const settled = all_agree(idle || steady(batch), course);
        if (settled || course.elapsed_ns >= course.budget_ns / 5) {
            return;
        }
    }
}

/// How many round trips make a sample that lasts long enough for the clock, for the fastest pair of the round.
void PairMeter::calibrate(PairRound const &round, PingPong const &ping, Course &course) {
    ClockCost const &cost = cell_.sampler().clock().cost();
    std::int64_t const least_ns = least_ping_pong_ns(cost);
    if (least_ns == 0) {
        return; // a simulated clock costs nothing
    }
    std::int64_t lasted_ns = course.unrecorded > 0 ? fastest(round, course.batch, settled_ns(cost)) : 0;
    while (lasted_ns < least_ns && course.trips.timed < most_round_trips) {
        if (lasted_ns > 0) { // a tenth more than enough, or the next look finds it short again
            std::int64_t const each_ns = std::max<std::int64_t>((lasted_ns - cost.cost_ns) / course.trips.timed, 1);
            course.trips.timed =
                std::clamp((least_ns + least_ns / 10) / each_ns + 1, 2 * course.trips.timed, most_round_trips);
        }
        course.trips.lead = true;
        take(round, ping, pair_calibration_samples, course.trips);
        course.unrecorded += pair_calibration_samples * course.trips.timed;
        lasted_ns = fastest(round, pair_calibration_samples, settled_ns(cost));
    }
    course.trips.lead = lasted_ns < settled_ns(cost);
}

/// The smallest median of any pair over the first rows; no more than `most_ns`.
std::int64_t PairMeter::fastest(PairRound const &round, std::int64_t samples, std::int64_t most_ns) const {
    std::int64_t mine = most_ns;
    for (Stream const &stream : streams_) {
        auto durations = durations_of(std::span(stream.rows).first(std::size_t(samples)));
        if (round.partner >= 0) {
            mine = std::min(mine, median(durations));
        }
    }
    return std::max<std::int64_t>(min_over(team_.comm, mine), 1);
}

bool PairMeter::precise() const {
    return std::all_of(streams_.begin(), streams_.end(), [&](Stream const &stream) {
        auto durations = durations_of(std::span(stream.rows).first(std::size_t(stream.count)));
        std::sort(durations.begin(), durations.end());
        return is_precise(durations, rules_.precision);
    });
}

void PairMeter::sample(PairRound const &round, PingPong const &ping, Course &course) {
    std::int64_t taken = 0;
    std::int64_t const each_ns =
        course.unrecorded > 0 ? course.trips.timed * course.elapsed_ns / course.unrecorded : 0; // by what went before
    std::int64_t next = next_chunk(rules_, 0, course.budget_ns - course.elapsed_ns, each_ns);
    bool const decided = rules_.min_samples == rules_.max_samples; // a simulator: nothing is to be agreed upon
    next = decided ? rules_.min_samples : next;
    course.began_samples = course.elapsed_ns;
    while (true) {
        take(round, ping, next, course.trips);
        taken += next;
        for (Stream &stream : streams_) {
            stream.count = taken;
        }
        if (decided) {
            return;
        }
        if (all_agree(round.partner < 0 || precise(), course)) {
            course.ended_by = EndedBy::precision;
            return;
        }
        std::int64_t const left_ns = course.budget_ns - course.elapsed_ns;
        if (taken >= rules_.max_samples || left_ns <= 0) {
            course.ended_by = taken >= rules_.max_samples ? EndedBy::samples : EndedBy::budget;
            return;
        }
        next = next_chunk(rules_, taken, left_ns, (course.elapsed_ns - course.began_samples) / taken);
    }
}

void PairMeter::record(Stream &stream, PairRound const &round, PingPong const &ping, Course const &course) {
    bool const idle = round.partner < 0;
    auto durations = durations_of(std::span(stream.rows).first(std::size_t(stream.count)));
    double const median_ns = idle ? 0.0 : double(median(durations)) / double(2 * course.trips.timed);
    findings_.push_back({stream.op, kind_of(stream.crowd, ping.bytes()), round.partner, ping.bytes(), stream.count,
                         course.trips, median_ns});
    record_samples(stream, course, idle);
    record_forward(stream, round);
}

int PairMeter::kind_of(Crowd crowd, std::int64_t bytes) {
    auto known = std::find(sizes_.begin(), sizes_.end(), bytes);
    if (known == sizes_.end()) {
        known = sizes_.insert(sizes_.end(), bytes);
    }
    return 3 * int(known - sizes_.begin()) + int(crowd);
}

/// Every rank records as many rows; those of one that had a bye stay empty.
void PairMeter::record_samples(Stream &stream, Course const &course, bool idle) {
    auto const samples = std::span<Row const>(stream.rows).first(std::size_t(stream.count));
    std::int64_t const batch = 2 * course.trips.timed;
    std::vector<Row> summary;
    std::int64_t rows = stream.count;
    if (!raw_) {
        summary = idle ? std::vector<Row>{} : summary_of(samples, batch);
        rows = max_over(team_.comm, std::int64_t(summary.size()));
    }
    std::span<Row const> const kept = raw_ ? samples : std::span<Row const>(summary);
    Segment &segment = cell_.sampler().recorder().open(raw_ ? stream.op : "summary." + stream.op, Phase::warm, rows);
    std::copy(kept.begin(), kept.end(), segment.rows.begin());
    segment.count = rows;
    segment.batch = batch;
    segment.warmup = 2 * course.unrecorded;
    segment.ended_by = course.ended_by;
}

/// How long the pings of this rank took one way, by the clocks of both ends: the median, in the column `taint` because
/// clocks that disagree make it negative; the number of samples beside it.
void PairMeter::record_forward(Stream &stream, PairRound const &round) {
    Segment &segment = cell_.sampler().recorder().open("forward." + stream.op, Phase::warm, 1);
    segment.count = 1;
    if (round.partner < 0) {
        return;
    }
    constexpr int tag = 13;
    Clock const &clock = cell_.sampler().clock();
    auto const n = std::size_t(stream.count);
    std::vector<std::int64_t> mine(n);
    std::vector<std::int64_t> theirs(n);
    std::transform(stream.arrivals.begin(), stream.arrivals.begin() + std::ptrdiff_t(n), mine.begin(),
                   [&](std::int64_t local_ns) { return clock.global(local_ns); });
    check(PMPI_Sendrecv(mine.data(), int(n), MPI_INT64_T, round.partner, tag, theirs.data(), int(n), MPI_INT64_T,
                        round.partner, tag, team_.comm, MPI_STATUS_IGNORE),
          "MPI_Sendrecv of arrivals");
    for (std::size_t i = 0; i < n; ++i) {
        theirs[i] -= clock.global(stream.rows[i].start_ns);
    }
    segment.rows[0] = {stream.rows[0].start_ns, stream.count, median(theirs)};
}

} // namespace weft
