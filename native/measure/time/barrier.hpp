// SPDX-License-Identifier: BSD-3-Clause
// Synchronised start of the ranks (METHOD 5).
#pragma once

#include "host/core_share.hpp"
#include "mpi/team.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

enum class Start {
    barrier,     ///< Weft's own dissemination barrier, the same with every MPI library
    mpi_barrier, ///< the library's
    window,      ///< an agreed start time
};

/// Whether a rank met the agreed start time.
enum class Late : std::uint8_t {
    no,
    overslept, ///< it arrived in time, but another process had its core at the start time
    arrived,   ///< it arrived too late: the window was too short
};

/// `barrier`, `mpi-barrier` or `window`; anything else throws Failure.
Start start_named(std::string_view name);

class Barrier {
  public:
    /// Collective; works on a communicator of its own. Both must outlive it. Until `settle`, the ranks of a team with a
    /// back channel wait on that channel.
    Barrier(Team const &team, Clock const &clock, Start start);
    /// Collective, once; the constructor calls it for a team that uses MPI.
    void settle();

    /// Collective. A rank can be late only with a window.
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

    /// Collective: as many ranks as possible come to the next `wait` together, with the barrier's code in their caches.
    /// Nothing for a simulator, and before ranks use MPI.
    void line_up() {
        if (!team_.back && start_ != Start::window && !platform::one_clock()) {
            wait();
        }
    }

    Start start() const noexcept { return start_; }
    std::int64_t window_ns() const noexcept { return window_ns_; }
    /// Call on every rank with the same values: if more than a quarter arrived late, the window doubles.
    void learn(std::int64_t samples, std::int64_t arrived_late) noexcept;
    /// Collective: the skew of starts of an empty operation, a median, in ns; 0 for one rank. Measured at the first
    /// call of this function, so that the first call of an operation comes before.
    std::int64_t skew_ns();
    /// Which ranks share cores by plan; null before `settle`.
    CoreShare const *cores() const noexcept { return cores_ ? &*cores_ : nullptr; }
    /// The private communicator, for the traffic of users of this barrier.
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
    std::optional<CoreShare> cores_;
    std::vector<Round> rounds_;
    std::int64_t window_ns_ = 0;
    std::optional<std::int64_t> skew_ns_;
};

} // namespace weft
