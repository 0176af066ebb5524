// SPDX-License-Identifier: BSD-3-Clause
// Whether ranks share cores by plan, and the processor time that others take from them then (METHOD 11). Ranks that
// take turns wait for each other: that is no disturbance, so the time for which they wait says nothing. What disturbs
// them is the time for which their cores were busy with anything else.
#pragma once

#include "mpi/handles.hpp"

#include <cstdint>
#include <vector>

namespace weft {

/// One rank's share of a reading of clocks.
struct CoreTimes {
    std::int64_t now_ns = 0;
    std::int64_t own_ns = 0;  ///< processor time of this rank's process
    std::int64_t busy_ns = 0; ///< of this machine's cores that the ranks may use; on its first rank
};

class CoreShare {
  public:
    CoreShare() = default;
    /// Collective. A machine is one kernel: the nodes of a virtual network may all be one.
    explicit CoreShare(MPI_Comm comm);

    /// The same on every rank: whether some machine has fewer cores than ranks.
    bool by_plan() const noexcept { return by_plan_; }
    /// The same on every rank: whether all kernels say for how long a rank waited for a processor.
    bool delay_is_known() const noexcept { return delay_is_known_; }

    CoreTimes read() const;
    /// Collective: processor time of others on this machine's cores between two readings, in ns, on the machine's first
    /// rank; 0 on other ranks. What the coarse ticks of the kernel cannot tell from nothing is 0.
    std::int64_t others_ns(CoreTimes const &before, CoreTimes const &after) const;

  private:
    Comm machine_;
    std::vector<int> cpus_; // of the machine, that some rank may use
    bool first_ = true;
    bool by_plan_ = false;
    bool delay_is_known_ = true;
};

} // namespace weft
