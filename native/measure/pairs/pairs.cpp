// SPDX-License-Identifier: BSD-3-Clause
// The kernel `pairs`: one-way latency of pairs of ranks, or the time of a window of messages, which gives their rate. A
// cell is a block of rounds of the tournament (METHOD 26).
//
//   bytes          message sizes
//   threads        multiple: MPI_THREAD_MULTIPLE is required (WEFT_THREADS asks for it before the plan is read)
//   window         messages under way at once (1); the time of an operation is that of them all
//   window_bytes   and most bytes of them together: one message always is under way
//   places         shared | apart: whether the messages of a window share one place (apart, in plans of older versions)
//   mode           isolated | node | all: one pair in the job, one pair per node, or all pairs of a round at a time
//   contention     1: also measure each round isolated, interleaved chunk by chunk (METHOD 17)
//   store          raw | summary
//   rounds T, first_round, last_round   rounds (inclusive) of a tournament of T rounds; or
//   pairs          these pairs, isolated: words `a-b`, pairs without common ranks joined by commas: `0-5,1-7 2-9`
//   check          1: each node also reports on itself (cell/node_report.hpp), rounds end with the time of all of them,
//                  and no pair is measured again; messages of 4 KiB or more move both ways at the same time
//   part           and those in parts of at most so many bytes, all under way at once (a message is whole)
//   leaf, pod      of each node, for the classes that slow pairs are compared within; both optional
#include "cell/kernels.hpp"
#include "cell/node_report.hpp"
#include "mpi/message.hpp"

#include "pairs/pair_retrial.hpp"
#include "pairs/pair_schedule.hpp"
#include "pairs/pair_values.hpp"

#include <algorithm>
#include <sstream>

namespace weft {

namespace {

struct PairsRequest {
    std::vector<std::int64_t> sizes;
    PingWindow window;
    std::vector<PairMode> modes; // interleaved
    bool raw = true;
    std::int64_t first = 0;
    std::int64_t last = -1;
    std::vector<std::vector<Pair>> chosen; // in place of the tournament's rounds

    std::int64_t rounds() const { return last - first + 1; }
    std::int64_t largest() const { return *std::max_element(sizes.begin(), sizes.end()); }
    std::int64_t buffer() const {
        std::int64_t most = 0;
        for (std::int64_t const size : sizes) {
            most = std::max(most, window.room(size));
        }
        return most;
    }
};

Failure bad_value(Cell const &cell, std::string const &what) {
    return {"cell " + cell.name() + ": " + what, "the plan is of another version of weft: start the study again", true};
}

std::vector<std::int64_t> integers(Cell const &cell, std::string_view key) {
    std::vector<std::int64_t> values;
    for (std::string const &word : cell.words(key)) {
        values.push_back(to_integer(word, key));
    }
    return values;
}

/// Parses `0-5,1-7`: pairs without common ranks.
std::vector<Pair> disjoint_pairs(Cell const &cell, std::string const &word) {
    std::vector<Pair> pairs;
    std::vector<bool> met(std::size_t(cell.team().size), false);
    std::istringstream stream(word);
    std::string text;
    while (std::getline(stream, text, ',')) {
        std::size_t const dash = std::min(text.find('-'), text.size());
        std::int64_t const low = to_integer(text.substr(0, dash), "pairs");
        std::int64_t const high = dash < text.size() ? to_integer(text.substr(dash + 1), "pairs") : -1;
        if (low < 0 || high <= low || high >= cell.team().size || met[std::size_t(low)] || met[std::size_t(high)]) {
            throw bad_value(cell, "`pairs` has " + text + " in " + word + " for " + std::to_string(cell.team().size) +
                                      " ranks");
        }
        met[std::size_t(low)] = met[std::size_t(high)] = true;
        pairs.push_back({int(low), int(high)});
    }
    return pairs;
}

std::vector<PairMode> modes_of(Cell const &cell) {
    PairMode const mode = pair_mode_named(cell.text("mode"));
    if (cell.integer("contention", 0) == 0) {
        return {mode};
    }
    if (mode == PairMode::isolated) {
        throw bad_value(cell, "`contention 1` needs a mode other than isolated");
    }
    return {PairMode::isolated, mode};
}

PairsRequest pairs_request(Cell const &cell) {
    PairsRequest request;
    request.sizes = integers(cell, "bytes");
    request.modes = modes_of(cell);
    if (request.sizes.empty() || *std::min_element(request.sizes.begin(), request.sizes.end()) < 0) {
        throw bad_value(cell, "`bytes " + cell.text("bytes") + "`: sizes from 0 on");
    }
    request.window = {cell.integer("window", 1), cell.has("window") && cell.text("places", "apart") == "apart",
                      cell.integer("window_bytes", INT64_MAX)};
    if (request.window.most < 1 || request.window.most > 100'000 || request.window.most_bytes < 1) {
        throw bad_value(cell,
                        "`window " + cell.text("window", "1") + "`: from 1 to 100000 messages, of at least a byte");
    }
    request.raw = cell.text("store", "raw") == "raw";
    if (cell.has("pairs")) {
        for (std::string const &word : cell.words("pairs")) {
            request.chosen.push_back(disjoint_pairs(cell, word));
        }
        request.last = std::int64_t(request.chosen.size()) - 1;
        return request;
    }
    request.first = cell.integer("first_round");
    request.last = cell.integer("last_round");
    if (request.first < 0 || request.last < request.first || request.last >= cell.integer("rounds")) {
        throw bad_value(cell, "rounds " + cell.text("first_round") + " to " + cell.text("last_round") + " of " +
                                  cell.text("rounds"));
    }
    return request;
}

/// The plan's rounds are for its own placement of ranks on nodes. On other nodes pairs would occur twice or never.
void refuse_other_shape(Cell const &cell, PairSchedule const &schedule) {
    if (schedule.rounds() != cell.integer("rounds")) {
        throw Refusal("fabric", "the plan has " + cell.text("rounds") + " rounds, but for the " +
                                    std::to_string(cell.team().nodes) + " nodes on which the ranks are there are " +
                                    std::to_string(schedule.rounds()) +
                                    ": the launcher placed them otherwise than planned");
    }
}

std::vector<PairRound> rounds_of(Cell const &cell, PairsRequest const &request) {
    std::vector<PairRound> rounds;
    for (std::size_t i = 0; i < request.chosen.size(); ++i) {
        rounds.push_back(make_round(cell.team(), int(i), request.chosen[i]));
    }
    if (rounds.empty()) {
        PairSchedule const schedule(cell.team().node_of);
        refuse_other_shape(cell, schedule);
        for (std::int64_t number = request.first; number <= request.last; ++number) {
            rounds.push_back(make_round(cell.team(), int(number), schedule.pairs(int(number))));
        }
    }
    // unequal nodes leave rounds without a pair
    std::erase_if(rounds, [](PairRound const &round) { return round.pairs.empty(); });
    return rounds;
}

/// Classes of pairs that should be equally fast: on one node, one leaf switch, one pod, or none of these in common.
std::function<int(int, int)> classes_of(Cell const &cell) {
    auto const places = [&](char const *key) {
        auto values = cell.has(key) ? integers(cell, key) : std::vector<std::int64_t>{};
        return int(values.size()) == cell.team().nodes ? values : std::vector<std::int64_t>{};
    };
    return [node_of = cell.team().node_of, leaf = places("leaf"), pod = places("pod")](int source, int target) {
        auto const a = std::size_t(node_of[std::size_t(source)]);
        auto const b = std::size_t(node_of[std::size_t(target)]);
        if (a == b) {
            return 0;
        }
        if (!leaf.empty() && leaf[a] == leaf[b]) {
            return 1;
        }
        return !pod.empty() && pod[a] == pod[b] ? 2 : 3;
    };
}

/// Records the partner: a segment of one row with the partner's rank, or the own rank for a bye. So the record can be
/// read without the schedule.
void record_partner(Cell &cell, PairRound const &round) {
    constexpr Columns columns{"", "partner", ""};
    Segment &segment =
        cell.sampler().recorder().open("partner.r" + std::to_string(round.number), Phase::cold, 1, columns);
    segment.rows[0] = {0, round.partner >= 0 ? round.partner : cell.team().rank, 0};
    segment.count = 1;
}

/// The budgets of all operations together: what one operation leaves, a later one may use. What starting the ranks took
/// is taken off, down to half.
class TimeOfCheck {
  public:
    TimeOfCheck(Cell const &cell, std::int64_t operations) : cell_(cell), began_ns_(platform::now_ns()) {
        std::int64_t const all_ns = operations * cell.rules().budget_ns;
        std::int64_t const spent_ns = process_start_ns() == 0 ? 0 : began_ns_ - process_start_ns();
        most_ns_ = std::max(all_ns - spent_ns, all_ns / 2);
    }

    /// Collective in a check: whether it is used up; never in a simulator, whose time costs nobody any.
    bool is_over() const {
        return is_check(cell_) && !platform::one_clock() &&
               max_over(cell_.team().comm, platform::now_ns() - began_ns_ - most_ns_) > 0;
    }

  private:
    Cell const &cell_;
    std::int64_t began_ns_;
    std::int64_t most_ns_ = 0;
};

/// Says how many slow pairs were not measured again.
void warn_of(Cell &cell, std::int64_t left_over) {
    if (left_over > 0) {
        cell.warn(std::to_string(left_over) + " more pairs took over 1.5 times the median of their class than were " +
                  "measured again (64 of a block); smaller blocks (pairs.block in the study) would judge them all");
    }
}

/// Whether the time of a check is over; warns where that was before half of its rounds.
bool is_cut_short(Cell &cell, TimeOfCheck const &time, std::size_t done, std::size_t rounds) {
    bool const over = time.is_over();
    if (over && 2 * done < rounds) {
        cell.warn("the time of the check ended after " + std::to_string(done) + " of " + std::to_string(rounds) +
                  " rounds");
    }
    return over;
}

} // namespace

Need pairs_need(Cell const &cell) {
    auto const request = pairs_request(cell);
    if (std::string const why = message_refusal(request.largest()); !why.empty()) {
        throw Refusal("fabric", why);
    }
    int level = MPI_THREAD_SINGLE;
    check(PMPI_Query_thread(&level), "MPI_Query_thread");
    if (cell.text("threads", "") == "multiple" && level < MPI_THREAD_MULTIPLE) {
        throw Refusal("fabric", "MPI_THREAD_MULTIPLE was asked for, and the library gave thread level " +
                                    std::to_string(level) + " of " + std::to_string(MPI_THREAD_MULTIPLE) +
                                    ": it was built without");
    }
    Rules const &rules = cell.rules();
    constexpr std::int64_t beside = 3;             // cold, forward, again
    constexpr std::int64_t summary_rows = 7 + 128; // order statistics, and the most buckets that a slow tail fills
    std::int64_t const kept = request.raw ? rules.max_samples : std::min(rules.max_samples, summary_rows);
    auto const modes = std::int64_t(request.modes.size());
    std::int64_t const operations = request.rounds() * std::int64_t(request.sizes.size()) * modes;
    constexpr auto row = std::int64_t(sizeof(Row));
    constexpr std::int64_t most_partners = 512; // of one launch, whose cells the plan chooses so
    constexpr std::int64_t raw_forward = 16;    // send and arrival time of each ping, until the clock is closed
    Need need;
    need.parts.push_back({"messages", 2 * std::clamp<std::int64_t>(request.buffer(), 1, std::int64_t{1} << 61)});
    // Twice, since the slab that is written is a copy.
    need.parts.push_back({"samples", 2 * operations * (kept + beside) * row +
                                         operations * rules.max_samples * raw_forward +
                                         modes * rules.max_samples * (row + std::int64_t(sizeof(Answer)))});
    if (is_check(cell)) {
        need.parts.push_back({"node report", node_report_bytes()});
    }
    std::int64_t const partners = std::min<std::int64_t>(cell.team().size, std::max(request.rounds(), most_partners));
    need.parts.push_back({"library staging", library_staging_bytes(int(partners))});
    return need;
}

void run_pairs(Cell &cell) {
    auto const request = pairs_request(cell);
    Team const &team = cell.team();
    auto const rounds = rounds_of(cell, request);
    Buffer send = Buffer::make(team, std::size_t(request.buffer()), "send");
    Buffer receive = Buffer::make(team, send.bytes(), "receive");
    PairValues values(cell, send, receive);
    std::int64_t const delay_ns = planted(cell, "slow") && team.rank == team.size - 1 ? 10'000'000 : 0;
    std::int64_t const both_ways_bytes = cell.integer("both_ways", INT64_MAX); // of a check
    std::int64_t const part = std::max<std::int64_t>(cell.integer("part", INT64_MAX), 1);
    auto const ping_of = [&](std::int64_t size) {
        PingPong ping(team.comm, cell.sampler().clock(), cell.sampler().losses(), send, receive, size, request.window);
        ping.slow_down(delay_ns);
        if (size >= both_ways_bytes) {
            ping.move_both_ways(part);
        }
        return ping;
    };
    PairTurns turns(team, cell.sampler().start(), is_check(cell));
    PairMeter meter(cell, turns, request.modes, request.raw);
    TimeOfCheck const time(cell, std::int64_t(rounds.size() * request.sizes.size()));
    for (PairRound const &round : rounds) {
        if (round.number > 0 && is_cut_short(cell, time, std::size_t(round.number), rounds.size())) {
            break;
        }
        record_partner(cell, round);
        for (std::int64_t const size : request.sizes) {
            meter.measure(round, ping_of(size));
            values.prove(round, size);
        }
    }
    // a check has no verdict on a pair, and its second pass is another launch
    auto const left_over =
        is_check(cell) ? 0 : measure_slow_again(cell, turns, meter.findings(), rounds, classes_of(cell), ping_of);
    warn_of(cell, left_over);
    values.settle();
}

} // namespace weft
