// SPDX-License-Identifier: BSD-3-Clause
// An all-to-all by nothing but this MPI's point-to-point messages: alone, beside neighbours, and everybody at once in
// rounds. What a library's own collective is compared with (the ladder).
#pragma once

#include "ladder/peer_blocks.hpp"
#include "mpi/team.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

class PlainExchange {
  public:
    /// Both must outlive it.
    PlainExchange(Team const &team, PeerBlocks const &blocks);

    /// A step of the ladder that this team can take: blocks leave a node, blocks stay on one, 2^k ranks.
    [[nodiscard]] bool leaves_node() const noexcept { return team_.nodes > 1; }
    [[nodiscard]] bool stays_in_node() const noexcept { return most_local_ > 1 || blocks_.keeps_own; }
    [[nodiscard]] bool has_pairs() const noexcept { return (team_.size & (team_.size - 1)) == 0; }

    /// The blocks that stay in a node, all ranks at once. Equal ones go to the neighbour, whoever they are for, from
    /// and to the places that they have in the exchange; others to the rank they are for. And the block a rank keeps.
    void within();
    /// The blocks that leave a node, of one rank in turn: it exchanges them with one other after the other, and nobody
    /// else sends. The next call is the next rank's, a node further on.
    void between();
    /// p rounds, everybody at once: in round d to the rank d behind, from the one d before. `ends` (p places, or none)
    /// gets the time at the end of each round.
    void shift(Clock const &clock, std::span<std::int64_t> ends);
    /// p rounds, everybody at once, of pairs: in round d with rank `own ^ d`. Only where has_pairs().
    void pairwise();

  private:
    void exchange(Block const &to, int target, Block const &from, int source);
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
