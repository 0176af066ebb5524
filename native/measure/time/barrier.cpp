// SPDX-License-Identifier: BSD-3-Clause
#include "time/barrier.hpp"

#include "mpi/agree.hpp"
#include "mpi/error.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace weft {

Start start_named(std::string_view name) {
    if (name == "barrier") {
        return Start::barrier;
    }
    if (name == "mpi-barrier") {
        return Start::mpi_barrier;
    }
    if (name == "window") {
        return Start::window;
    }
    throw Failure("unknown start `" + std::string(name) + "`", "use barrier, mpi-barrier or window", true);
}

Barrier::Barrier(Team const &team, Clock const &clock, Start start)
    : team_(team), clock_(clock), start_(start), rank_(team.rank) {
    for (int step = 1; step < team.size; step *= 2) {
        rounds_.push_back({(rank_ + step) % team.size, (rank_ - step + team.size) % team.size});
    }
    if (!team.back) {
        settle();
    }
}

void Barrier::settle() {
    comm_ = Comm::duplicate(team_.comm);
    cores_.emplace(comm_);
    if (start_ == Start::window) {
        window_ns_ = first_window();
    }
}

// In round k each rank sends to rank + 2^k and receives from rank - 2^k: after log2(p) rounds it depends on all ranks.
void Barrier::disseminate() {
    for (Round const &round : rounds_) {
        MPI_Request requests[2];
        char heard = 0;
        char const told = 1;
        check(PMPI_Irecv(&heard, 1, MPI_CHAR, round.from, 0, comm_, &requests[0]), "MPI_Irecv of the barrier");
        check(PMPI_Isend(&told, 1, MPI_CHAR, round.to, 0, comm_, &requests[1]), "MPI_Isend of the barrier");
        check(PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall of the barrier");
    }
}

Late Barrier::wait_for_window() {
    std::int64_t at = clock_.global(clock_.now()) + window_ns_;
    check(PMPI_Bcast(&at, 1, MPI_INT64_T, 0, comm_), "MPI_Bcast of the start time");
    return wait_until(clock_.local(at));
}

// Ranks of one host share its clock, so they agree on a start time. Across hosts the clocks are not yet synchronised:
// each rank starts when it receives the signal, some microseconds apart per rank.
Late Barrier::wait_aside() {
    constexpr std::int64_t in_good_time_ns = 200'000;
    constexpr std::int64_t for_each_rank_ns = 50'000;
    texts_on_rank_0(team_, "");
    std::int64_t const at = value_of(team_, clock_.now() + in_good_time_ns + for_each_rank_ns * team_.size);
    return team_.nodes > 1 ? Late::no : wait_until(at);
}

Late Barrier::wait_until(std::int64_t mine) {
    if (clock_.now() > mine) {
        return Late::arrived;
    }
    if (platform::one_clock()) {
        platform::sleep_ns(mine - clock_.now()); // polling a simulated clock does not advance it
        return Late::no;
    }
    constexpr std::int64_t worth_a_yield_ns = 20'000;
    constexpr std::int64_t still_in_time_ns = 1'000;
    while (true) {
        std::int64_t const left = mine - clock_.now();
        if (left <= 0) {
            return left < -still_in_time_ns ? Late::overslept : Late::no;
        }
        if (cores_ && cores_->by_plan() && left > worth_a_yield_ns) {
            platform::yield(); // spinning on a shared core would make another rank late
        }
    }
}

// Long enough to distribute the start time: four times the time of a broadcast. If that is too short, `learn` doubles
// it.
std::int64_t Barrier::first_window() {
    std::array<std::int64_t, 9> took{};
    for (std::int64_t &one : took) {
        std::int64_t word = 0;
        disseminate();
        std::int64_t const began = clock_.now();
        check(PMPI_Bcast(&word, 1, MPI_INT64_T, 0, comm_), "MPI_Bcast, timed for the window");
        disseminate();
        one = clock_.now() - began;
    }
    auto const middle = took.begin() + took.size() / 2;
    std::nth_element(took.begin(), middle, took.end());
    return std::max<std::int64_t>(10'000, 4 * max_over(comm_, *middle));
}

std::int64_t Barrier::skew_ns() {
    if (skew_ns_) {
        return *skew_ns_;
    }
    constexpr int starts = 25;
    std::array<std::int64_t, starts> first{};
    for (std::int64_t &mine : first) {
        wait();
        mine = clock_.global(clock_.now());
    }
    std::array<std::int64_t, starts> last = first;
    check(PMPI_Allreduce(MPI_IN_PLACE, first.data(), starts, MPI_INT64_T, MPI_MIN, comm_), "MPI_Allreduce of starts");
    check(PMPI_Allreduce(MPI_IN_PLACE, last.data(), starts, MPI_INT64_T, MPI_MAX, comm_), "MPI_Allreduce of starts");
    for (std::size_t i = 0; i < last.size(); ++i) {
        last[i] -= first[i];
    }
    std::nth_element(last.begin(), last.begin() + starts / 2, last.end());
    skew_ns_ = last[starts / 2];
    return *skew_ns_;
}

void Barrier::learn(std::int64_t samples, std::int64_t arrived_late) noexcept {
    constexpr std::int64_t longest_ns = 100'000'000;
    if (start_ == Start::window && 4 * arrived_late > samples) {
        window_ns_ = std::min(2 * window_ns_, longest_ns);
    }
}

} // namespace weft
