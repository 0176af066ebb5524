// SPDX-License-Identifier: BSD-3-Clause
// What the messages of a ping-pong carry, and the proof that it arrives (METHOD 12).
#pragma once

#include "cell/cell.hpp"
#include "host/buffer.hpp"
#include "pairs/pair_turns.hpp"

#include <cstdint>
#include <string>

namespace weft {

class PairValues {
  public:
    /// Fills `send` with what no other rank sends. All must outlive it.
    PairValues(Cell &cell, Buffer &send, Buffer &receive);

    /// Collective over the round: partners exchange one message of this size on an iteration of its own, and compare
    /// every byte of it.
    void prove(PairRound const &round, std::int64_t bytes);
    /// Collective: tells the cell how the proofs went.
    void settle();

  private:
    void corrupt(PairRound const &round, std::int64_t bytes);

    Cell &cell_;
    Buffer &send_;
    Buffer &receive_;
    bool corrupted_ = false; // the planted fault
    std::int64_t errors_ = 0;
    std::string first_;
};

} // namespace weft
