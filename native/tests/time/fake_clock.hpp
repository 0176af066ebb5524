// SPDX-License-Identifier: BSD-3-Clause
// Clocks of ranks that differ, over a time that no other process takes.
#pragma once

#include "time/clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>

/// Time that all ranks share and that no other process takes: it passes with each read of a clock, and by `pass`. With
/// it round trips are as short as `read_ns`, and the same on any machine.
class SharedTime {
  public:
    explicit SharedTime(weft::Team const &team, std::int64_t read_ns = 100) : team_(team) {
        read_ns_ = read_ns;
        void *base = nullptr;
        MPI_Aint const bytes = team.rank == 0 ? MPI_Aint(sizeof(Word)) : 0;
        PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, team.comm, &base, &window_);
        MPI_Aint size = 0;
        int unit = 0;
        PMPI_Win_shared_query(window_, 0, &size, &unit, &base);
        word_ = static_cast<Word *>(base);
        if (team.rank == 0) {
            new (word_) Word(1'000'000'000);
        }
        PMPI_Barrier(team.comm);
        current_ = word_;
    }
    SharedTime(SharedTime const &) = delete;
    SharedTime &operator=(SharedTime const &) = delete;
    ~SharedTime() {
        PMPI_Barrier(team_.comm);
        current_ = nullptr;
        PMPI_Win_free(&window_);
    }

    void pass(std::int64_t ns) const {
        PMPI_Barrier(team_.comm);
        if (team_.rank == 0) {
            word_->fetch_add(ns);
        }
        PMPI_Barrier(team_.comm);
    }
    /// The time of a read; that of the host outside of the life of a shared time.
    static std::int64_t read() noexcept {
        return current_ != nullptr ? current_->fetch_add(read_ns_) + read_ns_ : weft::platform::now_ns();
    }

  private:
    using Word = std::atomic<std::int64_t>;
    static inline Word *current_ = nullptr;
    static inline std::int64_t read_ns_ = 0;
    weft::Team const &team_;
    MPI_Win window_ = MPI_WIN_NULL;
    Word *word_ = nullptr;
};

/// A separate clock for each rank: the host's clock with an offset and a faster rate.
struct Fake {
    std::int64_t ahead_ns = 0;
    double fast = 0;
    std::int64_t began_ns = SharedTime::read();
    std::int64_t reads_before_jump = -1;                // then it jumps ahead by a millisecond
    std::array<std::int64_t, 3> reads_late{-1, -1, -1}; // before which 25 ms pass for this rank
    double bend = 0;                                    // of the rate, in a second
    std::int64_t reads = 0;
    std::int64_t odd_from = 0; // reads from here to there are ahead by a millisecond
    std::int64_t odd_to = 0;

    std::int64_t at(std::int64_t true_ns) const {
        double const passed_ns = double(true_ns - began_ns);
        return true_ns + ahead_ns + std::int64_t(fast * passed_ns + bend * passed_ns * passed_ns * 1e-9);
    }
};
inline Fake fake;

inline std::int64_t fake_now() noexcept {
    constexpr std::int64_t jump_ns = 1'000'000;
    bool const odd = fake.odd_from <= fake.reads && fake.reads < fake.odd_to;
    if (std::count(fake.reads_late.begin(), fake.reads_late.end(), fake.reads) > 0) {
        fake.ahead_ns += 25'000'000;
    }
    ++fake.reads;
    if (fake.reads_before_jump >= 0 && fake.reads_before_jump-- == 0) {
        fake.ahead_ns += jump_ns;
    }
    return fake.at(SharedTime::read()) + (odd ? jump_ns : 0);
}
