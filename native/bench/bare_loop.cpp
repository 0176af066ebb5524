// SPDX-License-Identifier: BSD-3-Clause
// Overhead of the harness: its warm median of MPI_Alltoall and MPI_Alltoallv compared with that of a bare loop of the
// same call with MPI_Barrier and MPI_Wtime, in one job, the two interleaved round by round.
//   mpiexec -n P bare_loop [rounds [bytes ...]]   prints `call bytes round harness_ns bare_ns samples batch bare_batch`
// Each chooses its own batch, so that a wrong batch of the harness is detected. Exit code 1 if the median ratio of a
// call and size is over 2 or under 1/2, which CI can detect on a busy machine.
#include "host/status.hpp"
#include "mpi/handles.hpp"
#include "mpi/team.hpp"
#include "sample/recorder.hpp"
#include "sample/sampler.hpp"
#include "time/barrier.hpp"
#include "time/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
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

/// The loop of a hand-written benchmark: median seconds of a sample, whose time is the maximum over ranks, as in the
/// harness.
template <class Call> double loop(Job &job, std::int64_t samples, std::int64_t batch, Call &&call) {
    std::vector<double> mine(static_cast<std::size_t>(samples)), all(mine.size());
    for (double &seconds : mine) {
        MPI_Barrier(job.team.comm);
        double const begin = MPI_Wtime();
        for (std::int64_t i = 0; i < batch; ++i) {
            call();
        }
        seconds = MPI_Wtime() - begin;
    }
    MPI_Allreduce(mine.data(), all.data(), int(mine.size()), MPI_DOUBLE, MPI_MAX, job.team.comm);
    std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
    return all[all.size() / 2];
}

/// Doubles its batch until a sample lasts 50 us: a clock read and the skew of the barrier are then a per cent of it.
template <class Call> Result bare(Job &job, std::int64_t samples, Call &&call) {
    constexpr double long_enough_s = 50e-6;
    std::int64_t batch = 1;
    while (batch < 4096 && loop(job, 5, batch, call) < long_enough_s) {
        batch *= 2;
    }
    return {loop(job, samples, batch, call) * 1e9 / double(batch), samples, batch};
}

/// Harness over bare, of each call and size.
using Ratios = std::map<std::pair<std::string, int>, std::vector<double>>;

template <class Call> void compare(Job &job, Ratios &ratios, char const *name, int bytes, int round, Call &&call) {
    Result result = harness(job, call);
    MPI_Bcast(&result.ns, 1, MPI_DOUBLE, 0, job.team.comm); // only rank 0 knows the median
    Result const by_hand = bare(job, result.samples, call);
    ratios[{name, bytes}].push_back(result.ns / by_hand.ns);
    if (job.team.rank == 0) {
        std::printf("%s %d %d %.1f %.1f %lld %lld %lld\n", name, bytes, round, result.ns, by_hand.ns,
                    static_cast<long long>(result.samples), static_cast<long long>(result.batch),
                    static_cast<long long>(by_hand.batch));
        std::fflush(stdout);
    }
}

/// True if the medians are within a factor of two.
bool are_close(Ratios &ratios) {
    return std::all_of(ratios.begin(), ratios.end(), [](auto &each) {
        std::vector<double> &values = each.second;
        std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
        double const middle = values[values.size() / 2];
        return 0.5 < middle && middle < 2;
    });
}

bool run(int rounds, std::vector<int> const &sizes) {
    Job job;
    Ratios ratios;
    std::size_t const p = std::size_t(job.team.size);
    for (int round = 0; round < rounds; ++round) {
        for (int const bytes : sizes) {
            std::vector<char> send(p * std::size_t(bytes), char(job.team.rank + 1)), receive(send.size(), 1);
            std::vector<int> const counts(p, bytes);
            std::vector<int> offsets(p);
            for (std::size_t i = 0; i < p; ++i) {
                offsets[i] = int(i) * bytes;
            }
            MPI_Comm const comm = job.team.comm;
            compare(job, ratios, "alltoall", bytes, round,
                    [&] { MPI_Alltoall(send.data(), bytes, MPI_CHAR, receive.data(), bytes, MPI_CHAR, comm); });
            compare(job, ratios, "alltoallv", bytes, round, [&] {
                MPI_Alltoallv(send.data(), counts.data(), offsets.data(), MPI_CHAR, receive.data(), counts.data(),
                              offsets.data(), MPI_CHAR, comm);
            });
        }
    }
    return are_close(ratios);
}

} // namespace

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    std::vector<int> sizes;
    for (int i = 2; i < argc; ++i) {
        sizes.push_back(std::atoi(argv[i]));
    }
    bool const judged = !sizes.empty();
    if (!judged) {
        sizes = {8, 1024, 65536, 1048576};
    }
    return run(argc > 1 ? std::atoi(argv[1]) : 9, sizes) || !judged ? 0 : 1;
}
