// SPDX-License-Identifier: BSD-3-Clause
// What does the harness cost? Its warm median of MPI_Alltoall and MPI_Alltoallv beside that of a bare loop of the same
// call with MPI_Barrier and MPI_Wtime, in one job, the two interleaved round by round.
//   mpiexec -n P bare_loop [rounds]   prints `call bytes round harness_ns bare_ns samples batch` lines
#include "barrier.hpp"
#include "clock.hpp"
#include "mpi.hpp"
#include "recorder.hpp"
#include "sampler.hpp"
#include "status.hpp"
#include "team.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Job {
    weft::Team team;
    weft::Clock clock;
    weft::Barrier start;
    weft::Status status;
    weft::Rules rules;

    Job() : team(weft::make_team(MPI_COMM_WORLD)), clock(team), start(team, clock, weft::Start::barrier) {
        rules.max_samples = 400;
        rules.min_samples = 200; // enough for both medians to be good to a per cent or two
        rules.budget_ns = 400'000'000;
    }
};

struct Result {
    double ns;
    std::int64_t samples;
    std::int64_t batch;
};

template <class Call> Result harness(Job &job, Call &&call) {
    weft::Recorder recorder;
    weft::Sampler sampler(job.team, job.clock, job.start, job.rules, recorder, job.status);
    sampler.warm("call", call);
    weft::Segment const &segment = recorder.segments().front();
    std::int64_t shape[2] = {segment.count, segment.batch};
    return {double(segment.median_ns) / double(segment.batch), shape[0], shape[1]};
}

/// The loop of a hand-made benchmark; the time of a sample is the maximum over ranks, as the harness has it.
template <class Call> double bare(Job &job, Result const &like, Call &&call) {
    std::vector<double> mine(std::size_t(like.samples)), all(mine.size());
    for (double &seconds : mine) {
        MPI_Barrier(job.team.comm);
        double const begin = MPI_Wtime();
        for (std::int64_t i = 0; i < like.batch; ++i) {
            call();
        }
        seconds = MPI_Wtime() - begin;
    }
    MPI_Allreduce(mine.data(), all.data(), int(mine.size()), MPI_DOUBLE, MPI_MAX, job.team.comm);
    std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
    return all[all.size() / 2] * 1e9 / double(like.batch);
}

template <class Call> void compare(Job &job, char const *name, int bytes, int round, Call &&call) {
    Result result = harness(job, call);
    MPI_Bcast(&result.ns, 1, MPI_DOUBLE, 0, job.team.comm); // the median is known to rank 0 alone
    double const bare_ns = bare(job, result, call);
    if (job.team.rank == 0) {
        std::printf("%s %d %d %.1f %.1f %lld %lld\n", name, bytes, round, result.ns, bare_ns,
                    static_cast<long long>(result.samples), static_cast<long long>(result.batch));
        std::fflush(stdout);
    }
}

void run(int rounds) {
    Job job;
    std::size_t const p = std::size_t(job.team.size);
    for (int round = 0; round < rounds; ++round) {
        for (int const bytes : {8, 1024, 65536, 1048576}) {
            std::vector<char> send(p * std::size_t(bytes), char(job.team.rank + 1)), receive(send.size(), 1);
            std::vector<int> const counts(p, bytes);
            std::vector<int> offsets(p);
            for (std::size_t i = 0; i < p; ++i) {
                offsets[i] = int(i) * bytes;
            }
            MPI_Comm const comm = job.team.comm;
            compare(job, "alltoall", bytes, round,
                    [&] { MPI_Alltoall(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, comm); });
            compare(job, "alltoallv", bytes, round, [&] {
                MPI_Alltoallv(send.data(), counts.data(), offsets.data(), MPI_CHAR, receive.data(), counts.data(),
                              offsets.data(), MPI_CHAR, comm);
            });
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    run(argc > 1 ? std::atoi(argv[1]) : 9);
    return 0;
}
