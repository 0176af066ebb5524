// SPDX-License-Identifier: BSD-3-Clause
// Records the results of a meter of pairs.
#include "pairs/pair_exchange.hpp"
#include "pairs/pair_meter.hpp"
#include "pairs/pair_summary.hpp"

#include <algorithm>

namespace weft {

void PairMeter::record(Series &series, PairRound const &round, PingPong const &ping, Timing const &timing) {
    bool const idle = round.partner < 0;
    auto durations = durations_of(std::span(series.rows).first(std::size_t(series.count)));
    double const median_ns = idle ? 0.0 : double(median(durations)) / double(ping.legs() * timing.trips.timed);
    findings_.push_back({series.op, round.number, series.mode, kind_of(series.mode, ping.bytes()), round.partner,
                         ping.bytes(), series.count, timing.trips, median_ns});
    record_samples(series, timing, idle, ping.legs());
    record_forward(series, round, series.theirs);
}

int PairMeter::kind_of(PairMode mode, std::int64_t bytes) {
    auto known = std::find(sizes_.begin(), sizes_.end(), bytes);
    if (known == sizes_.end()) {
        known = sizes_.insert(sizes_.end(), bytes);
    }
    return 3 * int(known - sizes_.begin()) + int(mode);
}

/// Every rank records the same number of rows; those of a rank with a bye stay empty.
void PairMeter::record_samples(Series &series, Timing const &timing, bool idle, std::int64_t legs) {
    auto const samples = std::span<Row const>(series.rows).first(std::size_t(series.count));
    std::int64_t const batch = legs * timing.trips.timed;
    std::vector<Row> summary;
    std::int64_t rows = series.count;
    if (!raw_) {
        summary = idle ? std::vector<Row>{} : summary_of(samples, batch, cell_.sampler().recorder().lost_by());
        rows = max_over(team_.comm, std::int64_t(summary.size()));
    }
    std::span<Row const> const kept = raw_ ? samples : std::span<Row const>(summary);
    Recorder &recorder = cell_.sampler().recorder();
    Segment &segment = raw_ ? recorder.open(series.op, Phase::warm, rows)
                            : recorder.open("summary." + series.op, Phase::warm, rows, bucket_columns);
    if (!raw_) {
        segment.head = summary_head;
    }
    std::copy(kept.begin(), kept.end(), segment.rows.begin());
    segment.count = rows;
    segment.batch = batch;
    segment.warmup = legs * timing.unrecorded;
    segment.ended_by = timing.ended_by;
    if (raw_) {
        cell_.sampler().losses().add(team_.comm, {&segment}, rows);
    }
}

/// The one-way times of this rank's pings are known only when the clock is closed.
void PairMeter::record_forward(Series &series, PairRound const &round, std::span<Answer const> theirs) {
    constexpr Columns columns{"start_ns", "forward_samples", "forward_ns"};
    Segment &segment = cell_.sampler().recorder().open("forward." + series.op, Phase::warm, 1, columns);
    segment.count = 1;
    if (round.partner >= 0) {
        forwards_->keep(segment, round.partner, std::span(series.rows).first(theirs.size()), theirs);
    }
}

} // namespace weft
