// SPDX-License-Identifier: BSD-3-Clause
// Loops that measure rates as osu_bw, osu_bibw, osu_mbw_mr, osu_put_bw, osu_get_bw (OSU 7) and mpiGraph 1.5 do.
#pragma once

#include "cell/kernels.hpp"
#include "time/barrier.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

constexpr int window = 64;
/// Distance between messages, in whole cache lines.
std::int64_t stride_of(int bytes) {
    return (bytes + 63) / 64 * 64;
}
/// As in Weft, but never so small that fewer messages are under way.
std::int64_t footprint_of(int bytes) {
    return std::max<std::int64_t>(2 << 20, window * stride_of(bytes));
}
constexpr int skipped = 10; // windows before the timed ones, as in OSU
constexpr int timed = 100;
constexpr std::size_t page = 4096;

struct Rating {
    weft::Team team;
    weft::Clock clock;
    weft::Barrier start;
    weft::Status status;
    weft::Plan plan;
    std::vector<MPI_Request> requests;

    Rating()
        : team(weft::make_team(MPI_COMM_WORLD)), clock(team), start(team, clock, weft::Start::barrier),
          requests(2 * window) {
        plan.rules.max_samples = 200;
        plan.rules.min_samples = 100;
        plan.rules.budget_ns = 300'000'000;
    }
    int half() const { return team.size / 2; }
    bool first() const { return team.rank < half(); }
    int partner() const { return first() ? team.rank + half() : team.rank - half(); }
};

/// Median and minimum of windows.
struct Windows {
    double ns = 0;
    double least_ns = 0;

    Windows over(double many) const { return {ns / many, least_ns / many}; }
};

inline Windows windows_of(std::vector<double> values) {
    auto const middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return {*middle, *std::min_element(values.begin(), values.end())};
}

/// Mean over ranks, of `of` that took part.
inline Windows mean_of(Rating const &job, Windows mine, int of) {
    double both[2] = {mine.ns, mine.least_ns};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_DOUBLE, MPI_SUM, job.team.comm);
    return {both[0] / of, both[1] / of};
}

/// OSU's clock: many windows from the first rank's start to its end; ns of a window. OSU takes the mean of all; here it
/// is the median of groups, which what disturbs some of them does not move.
inline Windows window_ns(Rating &job, int bytes, std::function<void()> const &one_window) {
    int const group = bytes < 8192 ? 10 : 1;
    std::vector<double> groups;
    MPI_Barrier(job.team.comm);
    for (int i = 0; i < skipped; ++i) {
        one_window();
    }
    for (int i = 0; i < timed; i += group) {
        double const begin = MPI_Wtime();
        for (int k = 0; k < group; ++k) {
            one_window();
        }
        groups.push_back((MPI_Wtime() - begin) * 1e9 / group);
    }
    return mean_of(job, job.first() ? windows_of(groups) : Windows{}, job.half()); // as osu_mbw_mr, over the pairs
}

/// Memory of one side of a loop.
struct Memory {
    std::vector<char> bytes; ///< of which the first page is left out to begin at one, as OSU's buffers do
    std::int64_t stride;     ///< 0: every message of a window in one place, as in OSU
    std::int64_t places;
    std::int64_t next = 0;

    Memory(int message, bool rotates)
        : bytes(std::size_t(rotates ? footprint_of(message) : message) + page, 'a'),
          stride(rotates ? stride_of(message) : 0), places(rotates ? footprint_of(message) / stride : 1) {}
    char *at(int k) {
        auto const begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
        return reinterpret_cast<char *>(begin) + (next + k) % places * stride;
    }
    void go_on() { next += window; }
};

inline void receive_all(Rating &job, Memory &into, int bytes, MPI_Request *requests) {
    for (int k = 0; k < window; ++k) {
        MPI_Irecv(into.at(k), bytes, MPI_CHAR, job.partner(), 100, job.team.comm, requests + k);
    }
    into.go_on();
}

inline void send_all(Rating &job, Memory &from, int bytes, MPI_Request *requests) {
    for (int k = 0; k < window; ++k) {
        MPI_Isend(from.at(k), bytes, MPI_CHAR, job.partner(), 100, job.team.comm, requests + k);
    }
    from.go_on();
}

inline void answer(Rating &job, bool sends) {
    char four[4] = {};
    if (sends) {
        MPI_Send(four, 4, MPI_CHAR, job.partner(), 101, job.team.comm);
    } else {
        MPI_Recv(four, 4, MPI_CHAR, job.partner(), 101, job.team.comm, MPI_STATUS_IGNORE);
    }
}

inline Windows osu_bw(Rating &job, int bytes, bool rotates) {
    Memory memory(bytes, rotates);
    return window_ns(job, bytes, [&] {
        job.first() ? send_all(job, memory, bytes, job.requests.data())
                    : receive_all(job, memory, bytes, job.requests.data());
        MPI_Waitall(window, job.requests.data(), MPI_STATUSES_IGNORE);
        answer(job, !job.first());
    });
}

inline Windows osu_bibw(Rating &job, int bytes, bool rotates) {
    Memory from(bytes, rotates), into(bytes, rotates);
    return window_ns(job, bytes, [&] {
        receive_all(job, into, bytes, job.requests.data());
        send_all(job, from, bytes, job.requests.data() + window);
        MPI_Waitall(window, job.requests.data() + window, MPI_STATUSES_IGNORE);
        MPI_Waitall(window, job.requests.data(), MPI_STATUSES_IGNORE);
        answer(job, !job.first());
    });
}

/// Mean of windows that start after two barriers; each end by polling, sends and receives apart.
inline Windows mpigraph(Rating &job, int bytes) {
    Memory from(bytes, true), into(bytes, true);
    std::vector<double> seconds;
    for (int i = 0; i < timed; ++i) {
        from.next = into.next = 0; // mpiGraph starts each window at the same place
        MPI_Barrier(job.team.comm);
        MPI_Barrier(job.team.comm);
        double const begin = MPI_Wtime();
        receive_all(job, into, bytes, job.requests.data());
        send_all(job, from, bytes, job.requests.data() + window);
        int sent = 0, received = 0;
        while (sent == 0 || received == 0) {
            if (sent == 0) {
                MPI_Testall(window, job.requests.data() + window, &sent, MPI_STATUSES_IGNORE);
            }
            if (received == 0) {
                MPI_Testall(window, job.requests.data(), &received, MPI_STATUSES_IGNORE);
                if (received != 0) {
                    seconds.push_back((MPI_Wtime() - begin) * 1e9);
                }
            }
        }
    }
    return mean_of(job, windows_of(seconds), job.team.size);
}

/// The target waits in a barrier, as in OSU.
inline Windows osu_one_sided(Rating &job, int bytes, bool puts) {
    Memory memory(bytes, false);
    char *exposed = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, job.team.comm, &exposed, &win);
    Windows found;
    if (job.first()) {
        std::vector<double> windows;
        MPI_Win_lock(MPI_LOCK_SHARED, job.partner(), 0, win);
        for (int i = 0; i < skipped + timed; ++i) {
            double const begin = MPI_Wtime();
            for (int k = 0; k < window; ++k) {
                puts ? MPI_Put(memory.at(k), bytes, MPI_CHAR, job.partner(), 0, bytes, MPI_CHAR, win)
                     : MPI_Get(memory.at(k), bytes, MPI_CHAR, job.partner(), 0, bytes, MPI_CHAR, win);
            }
            MPI_Win_flush(job.partner(), win);
            windows.push_back((MPI_Wtime() - begin) * 1e9);
        }
        found = windows_of(windows);
        MPI_Win_unlock(job.partner(), win);
    }
    MPI_Barrier(job.team.comm);
    found = mean_of(job, found, job.half());
    MPI_Win_free(&win);
    return found;
}

} // namespace bench
