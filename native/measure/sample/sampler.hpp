// SPDX-License-Identifier: BSD-3-Clause
// Takes the samples of one operation, cold or warm, under the rules of METHOD 2 to 11, on any team.
#pragma once

#include "host/status.hpp"
#include "mpi/all_to_all.hpp"
#include "sample/batch_book.hpp"
#include "sample/losses.hpp"
#include "sample/recorder.hpp"
#include "time/barrier.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// How one operation is timed.
struct How {
    std::int64_t operations = 1; ///< operations in one call: 2 for a ping-pong whose operation is one way
    bool batch = true;           ///< several calls per sample, if one is too short for the clock
    std::int64_t exactly = 0;    ///< fixed number of samples; 0: the stop rule decides
    bool of_one_rank = false;    ///< time of one rank, without the skew of starts: the longest duration
    std::int64_t least_ns = 0;   ///< precision does not end the samples earlier: where the shortest time counts
    std::int64_t chunk = 1;      ///< of operations in turns: samples of one before the next one's turn
};

/// One of several operations that are sampled in turns.
struct Turn {
    std::string op;
    std::function<void()> call;
    std::int64_t late_ns = 0;    ///< this rank's delay, by the test hook WEFT_PLANT=late
    std::function<void()> enter; ///< around its samples of a chunk, if anything is to be done there
    std::function<void()> leave;
};

/// The clock reads inside one run of steps.
class Laps {
  public:
    Laps(Clock const &clock, std::size_t steps) : clock_(clock), ends_(steps) {}

    /// Ends step `k`; each step begins at the end of the one before, the first at the start.
    void mark(std::size_t k) noexcept { ends_[k] = clock_.now(); }

    std::span<std::int64_t const> ends() const noexcept { return ends_; }

  private:
    Clock const &clock_;
    std::vector<std::int64_t> ends_;
};

class Sampler {
  public:
    /// All arguments must outlive it. Barrier and sampler have the same team.
    Sampler(Team const &team, Clock const &clock, Barrier &start, Rules const &rules, Recorder &recorder,
            Status &status, Losses const &losses = Losses());

    /// One sample of the first call.
    template <class Call> void cold(std::string_view op, Call &&call, How how = {}) {
        auto const name = status_.of_cell() + "/" + std::string(op);
        auto watched = [&] {
            platform::watch_algorithm(name);
            AllToAll::forget();
            call();
        };
        measure_cold({&op, 1}, how, [&](std::int64_t samples, std::int64_t calls) { take(samples, calls, watched); });
        auto const noted = platform::noted_algorithm(name);
        auto const &ran = AllToAll::ran();
        recorder_.segments().back().algorithm = ran.empty() ? noted : ran;
    }

    /// Warm-up, then samples until the stop rule ends them.
    template <class Call> void warm(std::string_view op, Call &&call, How how = {}) {
        measure_warm({&op, 1}, how, [&](std::int64_t samples, std::int64_t calls) { take(samples, calls, call); });
    }

    /// One run of several steps. `prepare()` is not timed; `body(Laps&)` is, and marks every step except the last of
    /// `ops`, which is the total from start to end. What the run lost counts for each step.
    template <class Prepare, class Body>
    void cold_steps(std::span<std::string_view const> ops, Prepare &&prepare, Body &&body) {
        Laps laps(clock_, ops.size() - 1);
        measure_cold(ops, {.batch = false},
                     [&](std::int64_t samples, std::int64_t) { take_steps(samples, laps, prepare, body); });
    }

    /// Warm-up, then runs of several steps until the stop rule, applied to the total, ends them.
    template <class Prepare, class Body>
    void warm_steps(std::span<std::string_view const> ops, Prepare &&prepare, Body &&body) {
        Laps laps(clock_, ops.size() - 1);
        measure_warm(ops, {.batch = false},
                     [&](std::int64_t samples, std::int64_t) { take_steps(samples, laps, prepare, body); });
    }

    /// Warm-up, then one sample (or chunk) of each operation in turn, repeated until the stop rule, applied to the last
    /// operation, ends them. They share two budgets, or have one each in chunks, and the batch of the last.
    void warm_in_turns(std::span<Turn const> turns, How how = {});

    /// The batches that an earlier launch of the cell chose, and those that this one chooses.
    BatchBook &batches() noexcept { return batches_; }

    /// Work to do before the first warm-up: first calls are made before the team's own MPI communication.
    void once_warm(std::function<void()> work) { once_warm_ = std::move(work); }

    /// Collective: the least duration of a sample: 20 times the cost and resolution of a clock read, and the skew of an
    /// empty operation (METHOD 7). If ranks share a core the skew is milliseconds: it is limited to a hundredth of the
    /// budget then, or a short operation would have fewer than ten samples. 0 for an exact clock, in a simulator.
    std::int64_t least_sample_ns();

    /// Call after the closing measurement of the clock: marks operations that ended by precision under a definition of
    /// time that the clock error no longer allows, and that are not precise under the other one.
    void settle_definitions() noexcept;

    /// Warnings about these samples for the user: cause and remedy.
    std::vector<std::string> const &warnings() const noexcept { return warnings_; }

    /// Collective, at the end of a cell: samples get their share of what others took from them until now.
    void settle_losses() { losses_.close_window(); }

    /// For a kernel (pairs) with its own loop, whose operation synchronises its ranks without a barrier.
    Clock const &clock() const noexcept { return clock_; }
    Barrier &start() const noexcept { return start_; }
    /// The measurements so far.
    Recorder &recorder() const noexcept { return recorder_; }
    /// What samples lose, by what is known of the ranks' cores by now.
    Losses &losses() noexcept {
        if (start_.cores() != nullptr) {
            losses_.know(*start_.cores());
        }
        recorder_.set_lost_by(losses_.by());
        return losses_;
    }
    Status &status() const noexcept { return status_; }

  private:
    /// Takes `samples` samples of `calls` calls each, into the rows after the open segments' `count`. One indirect call
    /// per chunk, none per sample.
    using Take = std::function<void(std::int64_t samples, std::int64_t calls)>;

    // Counters are read between two samples, never between barrier and clock read: a system call (0.5 us with CPU
    // mitigations) made an 8-byte all-to-all 10 to 25 % slower. After each of many short samples it still made the next
    // one slower, a 4 KiB broadcast by 5 %, so those share a reading.
    template <class Call> void take(std::int64_t samples, std::int64_t calls, Call &call) {
        std::span<Row> const rows(open_.front()->rows.data() + open_.front()->count, std::size_t(samples));
        losses_.begin(clock_.now());
        std::int64_t unread = 0;
        for (std::int64_t i = 0; i < samples; ++i) {
            late_[std::size_t(i)] = begin_together();
            auto const begin = clock_.now();
            for (std::int64_t c = 0; c < calls; ++c) {
                call();
            }
            auto const end = clock_.now();
            rows[std::size_t(i)] = {begin, end - begin, 0};
            if (losses_.due(end) || i + 1 == samples) {
                losses_.book(rows.subspan(std::size_t(unread), std::size_t(i + 1 - unread)), end);
                unread = i + 1;
            }
            tell_slow(i + 1, end - begin);
        }
    }

    template <class Prepare, class Body>
    void take_steps(std::int64_t samples, Laps &laps, Prepare &prepare, Body &body) {
        for (std::int64_t i = 0; i < samples; ++i) {
            prepare();
            losses_.begin();
            late_[std::size_t(i)] = begin_together();
            auto const begin = clock_.now();
            body(laps);
            auto const end = clock_.now();
            record_steps(i, begin, laps.ends(), end, losses_.next());
            tell_slow(i + 1, end - begin);
        }
    }

    /// The start of a sample. A barrier just after a system call ends unevenly, since its code left the caches: small
    /// broadcasts read 0.84 to 0.90 of their time. So one barrier goes before the one that starts the sample.
    Late begin_together() {
        start_.line_up();
        return start_.wait();
    }

    void take_turns(std::int64_t samples, std::int64_t calls, std::span<Turn const> turns, std::int64_t chunk);
    void take_turn(Turn const &turn, std::size_t k, std::int64_t first, std::int64_t end, std::int64_t calls);

    /// After a sample that took long, whoever watches hears of it; after others only at the end of their chunk.
    void tell_slow(std::int64_t taken, std::int64_t duration_ns) {
        constexpr std::int64_t slow_ns = 100'000'000;
        if (duration_ns >= slow_ns) {
            tell(taken);
        }
    }
    /// To whoever watches: the samples so far, and `taken` further ones of this rank that are not yet recorded.
    void tell(std::int64_t taken);

    /// State of the timing of one operation.
    struct Timing {
        std::int64_t began;            // start, warm-up included
        std::int64_t operation_ns = 0; // median of one call, max over ranks
        std::int64_t pass_ns = 0;      // of one call of all that takes turns, with what stands between
        std::int64_t calls = 1;        // in a sample
        std::int64_t unrecorded = 0;   // calls
        std::int64_t began_samples = 0;
        std::int64_t taken = 0; // samples, late ones included
    };

    void record_steps(std::int64_t i, std::int64_t begin, std::span<std::int64_t const> ends, std::int64_t end,
                      std::int64_t lost);
    void open(std::span<std::string_view const> ops, Phase phase, std::int64_t capacity, How how);
    void measure_cold(std::span<std::string_view const> ops, How how, Take const &take);
    void measure_warm(std::span<std::string_view const> ops, How how, Take const &take);
    void warm_up(Take const &take, Timing &timing);
    void calibrate(Take const &take, Timing &timing);
    void warn_of_short_samples(Segment const &segment);
    std::int64_t next_chunk_or_end(Timing const &timing, std::int64_t least_ns);
    void record_chunk(std::int64_t samples);
    void find_losses(Segment const &segment, std::int64_t first, std::int64_t count);
    std::int64_t drop_late(std::int64_t samples);
    std::span<std::int64_t> collective(Segment const &segment, std::int64_t first, std::int64_t count);
    void find_spans(Segment const &segment, std::int64_t first, std::int64_t count);
    bool is_settled_so_far();
    void close(How how);
    std::int64_t agreed(std::int64_t of_rank_0) const;

    Team const &team_;
    Clock const &clock_;
    Barrier &start_;
    Rules rules_;
    Recorder &recorder_;
    Status &status_;
    std::vector<Segment *> open_;          // of the operation being measured; the stop rule uses the last one
    std::vector<Late> late_;               // of the chunk
    std::vector<std::int64_t> durations_;  // scratch of a reduction
    std::vector<std::int64_t> collective_; // rank 0: max over ranks, of all samples so far
    std::vector<std::int64_t> begins_;     // rank 0: first start, of the chunk
    std::vector<std::int64_t> spans_;      // rank 0: last end minus first start, of all samples so far
    std::vector<std::int64_t> lost_;       // rank 0: sum over ranks of what they lost, of all samples so far
    Losses losses_;
    std::vector<std::string> warnings_;
    std::vector<std::int64_t> told_; // scratch of tell()
    std::int64_t calls_ = 0;         // in a sample; 0 before samples are recorded
    BatchBook batches_;
    std::function<void()> once_warm_;
};

} // namespace weft
