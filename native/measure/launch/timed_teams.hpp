// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a launch take part in a cell. Plan keys of a cell, both optional (without them all ranks do):
//   ranks K            the first K ranks of the launch
//   members R0 R1 ...  these ranks of the launch, in this order: R0 is rank 0 of the cell's team
#pragma once

#include "mpi/team.hpp"
#include "record/plan.hpp"
#include "time/barrier.hpp"
#include "time/clock.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace weft {

/// Ranks that measure together, with their own communicators, clock and start barrier.
struct TimedTeam {
    /// Collective over the team. `launch_epoch_ns`: begin of the launch, on this rank's clock.
    TimedTeam(Team made, Start how, std::int64_t launch_epoch_ns);
    TimedTeam(TimedTeam const &) = delete; // the barrier refers to the clock
    TimedTeam &operator=(TimedTeam const &) = delete;

    /// Collective: from now on the ranks use MPI; creates the communicators, clock and barrier for it. No effect if
    /// they do already.
    void settle();

    Team team;
    Clock clock;
    Barrier start;
    std::int64_t epoch_ns; ///< begin of the launch, on the clock of this team's rank 0
};

/// The launch's ranks for a cell, in the cell's order; empty if it does not name any, so that all take part. Throws
/// Failure for ranks that the launch does not have, for repeated ranks, and for both keys at once.
std::vector<int> members_of(CellPlan const &cell, int launch_ranks);

/// The same cell for the ranks that its key `beside` names: they do not measure it, and have work meanwhile.
CellPlan beside_of(CellPlan const &cell);

/// The teams of a launch: each is made for its first cell, and kept.
class TimedTeams {
  public:
    /// `all`, the team of all ranks, must outlive it.
    explicit TimedTeams(TimedTeam &all) : all_(all) {}

    /// Collective over the launch, whose ranks then use MPI: the team that measures this cell; null on ranks that are
    /// not in it.
    TimedTeam *of(CellPlan const &cell);

    /// Collective over the launch: waits until the cell's team has arrived here too. The other ranks sleep: polling
    /// would take core time, memory bandwidth or power from the ranks that measure. Those with other work call `work`
    /// meanwhile, which returns whether there was any.
    void wait_for(TimedTeam const *team, std::function<bool()> const &work = {}) const;

  private:
    void wait_once(TimedTeam const *team, std::function<bool()> const &work) const;

    TimedTeam &all_;
    std::map<std::vector<int>, std::unique_ptr<TimedTeam>> known_;
};

} // namespace weft
