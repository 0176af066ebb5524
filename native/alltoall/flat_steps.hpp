// SPDX-License-Identifier: BSD-3-Clause
// A message for each block, from the caller's buffer to the caller's buffer.
#pragma once

#include "orders.hpp"
#include "side.hpp"
#include "transfer.hpp"

#include <map>

namespace weft::alltoall {

/// Exchanges blocks step by step through a window. Empty blocks are not sent: both sides know that they are empty.
class FlatSteps {
  public:
    FlatSteps(Exchange const &exchange, SlidingWindow &window, MPI_Comm comm);

    /// Adds the messages of one step. With MPI_IN_PLACE it must be one of mutual_steps.
    void add(Step const &step);

  private:
    Exchange const &exchange_;
    SlidingWindow &window_;
    MPI_Comm comm_;
    std::map<int, std::vector<std::byte>> copies_; // [slot]: data to send, whose place the received data take
};

} // namespace weft::alltoall
