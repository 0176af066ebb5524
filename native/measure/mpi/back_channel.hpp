// SPDX-License-Identifier: BSD-3-Clause
// Communication between ranks before the first measured call (METHOD 3). A library opens connections at first use, so a
// launch that distributes its plan over MPI has no fresh connections left to measure. Until the first call has been
// made, Weft's own traffic uses this channel.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Connects all ranks of MPI_COMM_WORLD. Every call is collective; throws Failure if a rank is lost.
class BackChannel {
  public:
    BackChannel() = default;
    BackChannel(BackChannel const &) = delete;
    BackChannel &operator=(BackChannel const &) = delete;
    virtual ~BackChannel() = default;

    /// Every rank's text, on rank 0; empty on other ranks.
    virtual std::vector<std::string> gather(std::string const &mine) = 0;
    /// Rank 0's text, on every rank.
    virtual std::string spread(std::string const &text) = 0;
};

/// Collective, without MPI communication: opens the channel by means of the file `door`. Null on every rank if there is
/// no such file, or if some rank cannot reach rank 0. The file contains `loopback` (all ranks are on one host) or
/// `network`; rank 0 writes its address into it. Simulated ranks need no file.
std::unique_ptr<BackChannel> open_back_channel(int rank, int size, std::string const &door);

} // namespace weft
