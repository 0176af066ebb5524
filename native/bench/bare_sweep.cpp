// SPDX-License-Identifier: BSD-3-Clause
// Overhead of the kernels `collective` and `bandwidth`: their warm medians compared with those of bare loops of the
// same calls with MPI_Barrier and MPI_Wtime, in one job, the two interleaved round by round.
//   mpiexec -n 2 bare_sweep [rounds]   prints `call bytes round harness_ns bare_ns samples batch` lines
#include "cell/kernels.hpp"
#include "time/barrier.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<char>;
constexpr int window = 64; // messages of `bandwidth` in flight

struct Sweeping {
    weft::Team team;
    weft::Clock clock;
    weft::Barrier start;
    weft::Status status;
    weft::Plan plan;

    Sweeping() : team(weft::make_team(MPI_COMM_WORLD)), clock(team), start(team, clock, weft::Start::barrier) {
        plan.rules.max_samples = 400;
        plan.rules.min_samples = 200; // enough for both medians to be good to a per cent or two
        plan.rules.budget_ns = 800'000'000;
    }
};

/// Time of one operation, and how it was sampled; known to every rank.
struct Found {
    double ns;
    std::int64_t samples;
    std::int64_t batch;
};

/// The kernel, as a launch runs it, on one size.
Found harness(Sweeping &job, std::string const &kernel, std::string const &call, int bytes) {
    // the footprint of the bare loop beside it: a place for each message of the window
    weft::CellPlan const values{
        "c000",
        kernel,
        "",
        {{"collective", call}, {"bytes", std::to_string(bytes)}, {"footprint", std::to_string(window * bytes)}}};
    weft::Recorder recorder;
    weft::Sampler sampler(job.team, job.clock, job.start, job.plan.rules, recorder, job.status);
    weft::Cell cell(job.plan, values, job.team);
    cell.use(sampler);
    weft::kernel_named(kernel).run(cell);
    for (weft::Segment const &segment : recorder.segments()) {
        if (segment.phase == weft::Phase::warm && segment.op != "barrier") {
            Found found{double(segment.median_ns) / double(segment.batch), segment.count, segment.batch};
            MPI_Bcast(&found.ns, 1, MPI_DOUBLE, 0, job.team.comm); // only rank 0 knows the median
            return found;
        }
    }
    std::abort();
}

/// The loop of a hand-written benchmark; the time of a sample is the maximum over ranks, as in the harness.
template <class Call> double bare(Sweeping &job, Found const &like, std::int64_t operations, Call &&call) {
    std::vector<double> mine(std::size_t(like.samples)), all(mine.size());
    for (double &seconds : mine) {
        MPI_Barrier(job.team.comm);
        double const begin = MPI_Wtime();
        for (std::int64_t i = 0; i < like.batch / operations; ++i) {
            call();
        }
        seconds = MPI_Wtime() - begin;
    }
    MPI_Allreduce(mine.data(), all.data(), int(mine.size()), MPI_DOUBLE, MPI_MAX, job.team.comm);
    std::nth_element(all.begin(), all.begin() + std::ptrdiff_t(all.size() / 2), all.end());
    return all[all.size() / 2] * 1e9 / double(like.batch);
}

void report(Sweeping const &job, std::string const &call, int bytes, int round, Found const &found, double bare_ns) {
    if (job.team.rank == 0) {
        std::printf("%s %d %d %.1f %.1f %lld %lld\n", call.c_str(), bytes, round, found.ns, bare_ns,
                    static_cast<long long>(found.samples), static_cast<long long>(found.batch));
        std::fflush(stdout);
    }
}

void compare_collectives(Sweeping &job, int bytes, int round) {
    std::size_t const all = std::size_t(job.team.size) * std::size_t(bytes);
    Bytes send(all, 1), receive(all, 2);
    std::vector<double> numbers(std::size_t(bytes) / sizeof(double), 1.0), sums(numbers.size(), 2.0);
    MPI_Comm const comm = job.team.comm;
    int root = 0; // each call has the next rank as its root, as in the kernel
    auto const next = [&] { return std::exchange(root, root + 1 == job.team.size ? 0 : root + 1); };
    auto const compare = [&](char const *name, auto &&call) {
        Found const found = harness(job, "collective", name, bytes);
        report(job, name, bytes, round, found, bare(job, found, 1, call));
    };
    compare("bcast", [&] {
        int const from = next();
        MPI_Bcast(job.team.rank == from ? send.data() : receive.data(), bytes, MPI_BYTE, from, comm);
    });
    compare("alltoall", [&] { MPI_Alltoall(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, comm); });
    compare("gather", [&] { MPI_Gather(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, next(), comm); });
    compare("allreduce",
            [&] { MPI_Allreduce(numbers.data(), sums.data(), int(numbers.size()), MPI_DOUBLE, MPI_SUM, comm); });
}

void compare_bandwidth(Sweeping &job, int bytes, int round) {
    Bytes places(std::size_t(window) * std::size_t(bytes), 1);
    std::vector<MPI_Request> requests(window);
    MPI_Comm const comm = job.team.comm;
    auto const stream = [&] {
        char done = 0;
        for (int k = 0; k < window; ++k) {
            char *const place = places.data() + std::size_t(k) * std::size_t(bytes);
            if (job.team.rank == 0) {
                MPI_Isend(place, bytes, MPI_BYTE, 1, 0, comm, &requests[std::size_t(k)]);
            } else {
                MPI_Irecv(place, bytes, MPI_BYTE, 0, 0, comm, &requests[std::size_t(k)]);
            }
        }
        MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
        if (job.team.rank == 0) {
            MPI_Recv(&done, 1, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&done, 1, MPI_CHAR, 0, 1, comm);
        }
    };
    Found const found = harness(job, "bandwidth", "send", bytes);
    report(job, "send", bytes, round, found, bare(job, found, window, stream));
}

} // namespace

int main(int argc, char **argv) {
    weft::Library const library(argc, argv);
    Sweeping job;
    int const rounds = argc > 1 ? std::atoi(argv[1]) : 9;
    for (int round = 0; round < rounds; ++round) {
        for (int const bytes : {8, 1024, 65536, 1048576}) {
            compare_collectives(job, bytes, round);
            if (job.team.size == 2) {
                compare_bandwidth(job, bytes, round);
            }
        }
    }
    return 0;
}
