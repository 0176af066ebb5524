// SPDX-License-Identifier: BSD-3-Clause
// How the ranks start together (METHOD 5).
#pragma once

#include "mpi/team.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

enum class Start {
    barrier,     ///< Weft's own dissemination barrier: the same under every MPI library
    mpi_barrier, ///< the library's
    window,      ///< an agreed time in the future
};

/// How a rank met the agreed start time.
enum class Late : std::uint8_t {
    no,
    overslept, ///< it was there, but somebody else had its core when the time came
    arrived,   ///< it came too late: the window was too short
};

/// `barrier`, `mpi-barrier` or `window`; anything else throws Failure.
Start start_named(std::string_view name);

class Barrier {
  public:
    /// Collective; works on a communicator of its own. Both must outlive it. Until a team that has not spoken over MPI
    /// yet settles, its ranks wait by its back channel.
    Barrier(Team const &team, Clock const &clock, Start start);
    /// Collective, once; the constructor does it for a team that speaks over MPI.
    void settle();

    /// Collective. Late only in a window.
    Late wait() {
        if (team_.back) [[unlikely]] {
            return wait_aside();
        }
        switch (start_) {
        case Start::barrier:
            disseminate();
            return Late::no;
        case Start::mpi_barrier:
            check(PMPI_Barrier(comm_), "MPI_Barrier");
            return Late::no;
        case Start::window:
            break;
        }
        return wait_for_window();
    }

    Start start() const noexcept { return start_; }
    std::int64_t window_ns() const noexcept { return window_ns_; }
    /// To be called on every rank with the same values: when more than a quarter arrived late, the window doubles.
    void learn(std::int64_t samples, std::int64_t arrived_late) noexcept;
    /// Collective: how far apart the ranks start an empty operation, the median of some; 0 for one rank. Measured when
    /// it is first asked for, so that a first call has been made before.
    std::int64_t skew_ns();
    /// The private communicator, for the traffic of whoever uses this barrier.
    MPI_Comm comm() const noexcept { return comm_; }

  private:
    struct Round {
        int to;
        int from;
    };
    void disseminate();
    Late wait_for_window();
    Late wait_aside();
    Late wait_until(std::int64_t mine);
    std::int64_t first_window();

    Team const &team_;
    Comm comm_;
    Clock const &clock_;
    Start start_;
    int rank_;
    bool oversubscribed_ = false; // more ranks than cores on some node
    std::vector<Round> rounds_;
    std::int64_t window_ns_ = 0;
    std::optional<std::int64_t> skew_ns_;
};

} // namespace weft
