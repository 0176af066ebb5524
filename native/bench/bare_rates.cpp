// SPDX-License-Identifier: BSD-3-Clause
// The rates of the kernels `bandwidth` and `pairs` beside those of loops that measure as osu_bw, osu_bibw, osu_mbw_mr,
// osu_put_bw, osu_get_bw (OSU 7) and mpiGraph 1.5 do, in one job, the two interleaved round by round.
//   mpiexec -n 2 bare_rates [rounds [bytes ...]]   prints `call bytes round harness_ns bare_ns samples batch` lines,
//   and the same two times of the fastest sample: what a busy host disturbs least
// Loops named `...:places` are the same with Weft's memory: a place for each message, in a footprint that goes round.
#include "osu_loops.hpp"

#include "pairs/pair_meter.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct Found {
    double ns = 0; ///< of one message
    long long samples = 0;
    long long batch = 0;
    double least_ns = 0; ///< of one message of the fastest sample
};

/// The fastest warm sample, for one operation: each lasts as long as on the slowest rank of `comm`.
double least_ns(weft::Recorder const &recorder, MPI_Comm comm) {
    double found = 0;
    for (weft::Segment const &segment : recorder.segments()) {
        if (segment.phase != weft::Phase::warm) {
            continue;
        }
        std::vector<double> ns;
        for (weft::Row const &row : segment.rows) {
            ns.push_back(double(row.duration_ns) / double(segment.batch));
        }
        MPI_Allreduce(MPI_IN_PLACE, ns.data(), int(ns.size()), MPI_DOUBLE, MPI_MAX, comm);
        for (double const each : ns) {
            found = each > 0 && (found == 0 || each < found) ? each : found;
        }
    }
    return found;
}

/// In a footprint: of one message, all are in one place, as in OSU.
Found bandwidth(Rating &job, int bytes, std::string const &transfer, std::string const &way, std::int64_t footprint) {
    weft::CellPlan const values{"c000",
                                "bandwidth",
                                "",
                                {{"bytes", std::to_string(bytes)},
                                 {"footprint", std::to_string(footprint)},
                                 {"cache", footprint == bytes ? "shared" : ""},
                                 {"transfer", transfer},
                                 {"way", way}}};
    weft::Recorder recorder;
    weft::Sampler sampler(job.team, job.clock, job.start, job.plan.rules, recorder, job.status);
    weft::Cell cell(job.plan, values, job.team);
    cell.use(sampler);
    weft::kernel_named("bandwidth").run(cell);
    for (weft::Segment const &segment : recorder.segments()) {
        if (segment.phase == weft::Phase::warm) {
            return {double(segment.median_ns) / double(segment.batch), segment.count, segment.batch,
                    least_ns(recorder, job.team.comm)};
        }
    }
    std::abort();
}

/// Half of a window there and back, as `pairs` with measure = "bandwidth" measures it.
Found pairs(Rating &job, int bytes, bool apart) {
    weft::CellPlan const values{"c000", "pairs", "", {}};
    weft::Recorder recorder;
    weft::Sampler sampler(job.team, job.clock, job.start, job.plan.rules, recorder, job.status);
    weft::Cell cell(job.plan, values, job.team);
    cell.use(sampler);
    weft::PingWindow const messages{window, apart};
    auto const room = std::size_t(messages.room(bytes));
    weft::Buffer const send = weft::Buffer::make(job.team, room, "send");
    weft::Buffer const receive = weft::Buffer::make(job.team, room, "receive");
    weft::PairTurns turns(job.team, job.start);
    weft::PairMeter meter(cell, turns, {weft::PairMode::all}, true);
    weft::PingPong ping(job.team.comm, job.clock, sampler.losses(), send, receive, bytes, messages);
    meter.measure(weft::make_round(job.team, 0, {{0, 1}}), ping);
    auto const &found = meter.findings().front();
    double const least = least_ns(recorder, MPI_COMM_SELF); // the other rank starts pings of its own
    return {double(found.median_ns) / window, found.samples, 2 * found.trips.timed * window, least / window};
}

/// Both are printed as the time of one message among all that are under way.
void report(Rating const &job, std::string const &call, int bytes, int round, Found const &found, Windows const &bare) {
    if (job.team.rank == 0) {
        std::printf("%s %d %d %.2f %.2f %lld %lld %.2f %.2f\n", call.c_str(), bytes, round, found.ns, bare.ns,
                    found.samples, found.batch, found.least_ns, bare.least_ns);
        std::fflush(stdout);
    }
}

void compare(Rating &job, int bytes, int round) {
    double const flows = job.half();
    std::string const one = job.team.size == 2 ? "osu_bw" : "osu_mbw_mr";
    for (bool const shared : {true, false}) {
        Found const way = bandwidth(job, bytes, "send", "one", shared ? bytes : footprint_of(bytes));
        report(job, one + (shared ? "" : ":places"), bytes, round, way,
               osu_bw(job, bytes, !shared).over(window * flows));
    }
    if (job.team.size > 2) {
        return;
    }
    report(job, "osu_bibw", bytes, round, bandwidth(job, bytes, "send", "both", bytes),
           osu_bibw(job, bytes, false).over(2 * window));
    report(job, "osu_bibw:places", bytes, round, bandwidth(job, bytes, "send", "both", footprint_of(bytes)),
           osu_bibw(job, bytes, true).over(2 * window));
    report(job, "mpiGraph", bytes, round, bandwidth(job, bytes, "send", "both", window * stride_of(bytes)),
           mpigraph(job, bytes).over(2 * window)); // each window at the same place
    for (bool const apart : {false, true}) {
        report(job, apart ? "pairs:places" : "pairs:osu_bw", bytes, round, pairs(job, bytes, apart),
               osu_bw(job, bytes, apart).over(window));
    }
    for (bool const puts : {true, false}) {
        std::string const call = puts ? "put" : "get";
        report(job, "osu_" + call + "_bw", bytes, round, bandwidth(job, bytes, call, "one", bytes),
               osu_one_sided(job, bytes, puts).over(window));
    }
}

} // namespace

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    bench::Rating job;
    int const rounds = argc > 1 ? std::atoi(argv[1]) : 9;
    std::vector<int> sizes{8, 1024, 8192, 32768, 262144};
    if (argc > 2) {
        sizes.clear();
        std::transform(argv + 2, argv + argc, std::back_inserter(sizes),
                       [](char const *text) { return std::atoi(text); });
    }
    for (int round = 0; round < rounds; ++round) {
        for (int const bytes : sizes) {
            compare(job, bytes, round);
        }
    }
    return 0;
}
