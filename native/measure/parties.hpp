// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a launch take part in a cell. Plan keys of a cell, both optional (without them all ranks do):
//   ranks K            the first K ranks of the launch
//   members R0 R1 ...  these ranks of the launch, in this order: R0 is rank 0 of the cell's team
#pragma once

#include "barrier.hpp"
#include "clock.hpp"
#include "plan.hpp"
#include "team.hpp"

#include <map>
#include <memory>
#include <vector>

namespace weft {

/// Ranks that measure together: they have communicators, a clock and a start barrier of their own.
struct Party {
    /// Collective over the team. `launch_epoch_ns`: begin of the launch, on this rank's clock.
    Party(Team made, Start how, std::int64_t launch_epoch_ns);
    Party(Party const &) = delete; // the barrier knows where the clock is
    Party &operator=(Party const &) = delete;

    Team team;
    Clock clock;
    Barrier start;
    std::int64_t epoch_ns; ///< begin of the launch, on the clock of this team's rank 0
};

/// Ranks of the launch that a cell names, in its order; empty when it names none: then all take part. Throws Failure
/// for ranks that the launch does not have, that are named twice, or for both keys at once.
std::vector<int> members_of(CellPlan const &cell, int launch_ranks);

/// The parties of a launch: each is made when its first cell comes, and kept.
class Parties {
  public:
    /// `all`, the party of all ranks, must outlive it.
    explicit Parties(Party &all) : all_(all) {}

    /// Collective over the launch: the party that measures this cell; null on ranks that are not of it.
    Party *of(CellPlan const &cell);

    /// Collective over the launch: until the cell's party has come here, too. The others sleep: one that polls would
    /// take the core, the memory or the power of those who measure.
    void gather(Party const *party) const;

  private:
    Party &all_;
    std::map<std::vector<int>, std::unique_ptr<Party>> known_;
};

} // namespace weft
