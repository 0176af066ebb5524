// SPDX-License-Identifier: BSD-3-Clause
// Contents of the messages of a ping-pong, and the proof that they arrive (METHOD 12).
#pragma once

#include "cell/cell.hpp"
#include "host/buffer.hpp"
#include "pairs/pair_turns.hpp"

#include <cstdint>
#include <string>

namespace weft {

class PairValues {
  public:
    /// Fills `send` with words unique to this rank. All arguments must outlive it.
    PairValues(Cell &cell, Buffer &send, Buffer &receive);

    /// Collective over the round: partners exchange one message of this size in a separate iteration, and compare every
    /// byte.
    void prove(PairRound const &round, std::int64_t bytes);
    /// Collective: reports the results of the proofs to the cell.
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
