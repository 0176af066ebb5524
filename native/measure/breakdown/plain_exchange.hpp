// SPDX-License-Identifier: BSD-3-Clause
// An all-to-all by point-to-point messages of this MPI: within nodes, one rank at a time, and all ranks at once in
// rounds. The breakdown compares a library's collective with it.
#pragma once

#include "breakdown/peer_blocks.hpp"
#include "mpi/team.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class PlainExchange {
  public:
    /// Both arguments must outlive it.
    PlainExchange(Team const &team, PeerBlocks const &blocks);

    /// Which steps of the breakdown this team has: blocks leave a node, blocks stay on one, 2^k ranks.
    [[nodiscard]] bool leaves_node() const noexcept { return team_.nodes > 1; }
    [[nodiscard]] bool stays_in_node() const noexcept { return most_local_ > 1 || blocks_.keeps_own; }
    [[nodiscard]] bool has_pairs() const noexcept { return (team_.size & (team_.size - 1)) == 0; }

    /// The blocks that stay in a node, all ranks at once, and each rank's own block. Equal blocks all go to the
    /// neighbour, from and to their places in the exchange; others go to their own receivers.
    void within();
    /// The blocks that leave a node, of one rank: it exchanges them with one rank after another, a few at a time in
    /// both directions, and no other rank sends to a third. The next call is the turn of the next rank, on the next
    /// node.
    void between();
    /// p rounds, all ranks at once: in round d to rank + d, from rank - d, modulo p. `ends` (p entries, or none) gets
    /// the time at the end of each round.
    void shift(Clock const &clock, std::span<std::int64_t> ends);
    /// p rounds of pairs, all ranks at once: in round d with rank `own ^ d`. Only if has_pairs().
    void pairwise();

  private:
    void exchange(Block const &to, int target, Block const &from, int source);
    void post(int other, std::span<MPI_Request, 2> requests);
    void exchange_with(int target, int source) {
        exchange(blocks_.send[std::size_t(target)], target, blocks_.receive[std::size_t(source)], source);
    }

    Team const &team_;
    PeerBlocks const &blocks_;
    std::vector<int> local_; ///< ranks of this node
    int most_local_ = 1;
    std::vector<int> turns_; ///< the order of between()
    std::size_t turn_ = 0;
};

} // namespace weft
