// SPDX-License-Identifier: BSD-3-Clause
// Overhead of the kernel `pairs`: its warm median of a pair compared with that of a bare ping-pong loop with MPI_Wtime,
// in one job, the two interleaved round by round.
//   mpiexec -n 2 bare_ping_pong [rounds]   prints `pairs bytes round harness_ns bare_ns samples batch` lines
#include "cell/cell.hpp"
#include "pairs/pair_meter.hpp"
#include "time/barrier.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Pairing {
    weft::Team team;
    weft::Clock clock;
    weft::Barrier start;
    weft::Status status;
    weft::Plan plan;
    weft::CellPlan values;

    Pairing() : team(weft::make_team(MPI_COMM_WORLD)), clock(team), start(team, clock, weft::Start::barrier) {
        plan.rules.max_samples = 400;
        plan.rules.min_samples = 200; // enough for both medians to be good to a per cent or two
        plan.rules.budget_ns = 800'000'000;
    }
};

/// One-way time of the pings that rank 0 started, as the kernel measures them.
weft::PairFinding harness(Pairing &job, int bytes) {
    weft::Recorder recorder;
    weft::Sampler sampler(job.team, job.clock, job.start, job.plan.rules, recorder, job.status);
    weft::Cell cell(job.plan, job.values, job.team);
    cell.use(sampler);
    weft::Buffer const send = weft::Buffer::make(job.team, std::size_t(bytes), "send");
    weft::Buffer const receive = weft::Buffer::make(job.team, std::size_t(bytes), "receive");
    weft::PairTurns turns(job.team, job.start);
    weft::PairMeter meter(cell, turns, {weft::PairMode::all}, true);
    meter.measure(weft::make_round(job.team, 0, {{0, 1}}),
                  {job.team.comm, job.clock, sampler.losses(), send, receive, bytes});
    return meter.findings().front();
}

/// The loop of a hand-written benchmark: the same number of round trips per sample, and the median over the same number
/// of samples.
double bare(Pairing &job, int bytes, weft::PairFinding const &like) {
    weft::Buffer const send = weft::Buffer::make(job.team, std::size_t(bytes), "send");
    weft::Buffer const receive = weft::Buffer::make(job.team, std::size_t(bytes), "receive");
    MPI_Comm const comm = job.team.comm;
    int const other = 1 - job.team.rank;
    std::vector<double> seconds(std::size_t(like.samples));
    MPI_Barrier(comm);
    for (double &one : seconds) {
        double const begin = MPI_Wtime();
        for (std::int64_t i = 0; i < like.trips.timed; ++i) {
            if (job.team.rank == 0) {
                MPI_Send(send.data(), bytes, MPI_BYTE, other, 0, comm);
                MPI_Recv(receive.data(), bytes, MPI_BYTE, other, 0, comm, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(receive.data(), bytes, MPI_BYTE, other, 0, comm, MPI_STATUS_IGNORE);
                MPI_Send(send.data(), bytes, MPI_BYTE, other, 0, comm);
            }
        }
        one = MPI_Wtime() - begin;
    }
    std::nth_element(seconds.begin(), seconds.begin() + std::ptrdiff_t(seconds.size() / 2), seconds.end());
    return seconds[seconds.size() / 2] * 1e9 / double(2 * like.trips.timed);
}

void run(int rounds) {
    Pairing job;
    for (int round = 0; round < rounds; ++round) {
        for (int const bytes : {8, 1024, 65536, 1048576}) {
            weft::PairFinding const found = harness(job, bytes);
            double const bare_ns = bare(job, bytes, found);
            if (job.team.rank == 0) {
                std::printf("pairs %d %d %.1f %.1f %lld %lld\n", bytes, round, found.median_ns, bare_ns,
                            static_cast<long long>(found.samples), static_cast<long long>(2 * found.trips.timed));
                std::fflush(stdout);
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    run(argc > 1 ? std::atoi(argv[1]) : 9);
    return 0;
}
