// SPDX-License-Identifier: BSD-3-Clause
// What ranks say to each other before the first measured call (METHOD 3). A library opens its connections when they are
// first used, so a launch that agrees about its plan over MPI has no fresh connections left to measure. Until the first
// call has been made, Weft's own words go another way.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// Between all ranks of MPI_COMM_WORLD. Every call is collective; a rank that is gone ends it by Failure.
class BackChannel {
  public:
    BackChannel() = default;
    BackChannel(BackChannel const &) = delete;
    BackChannel &operator=(BackChannel const &) = delete;
    virtual ~BackChannel() = default;

    /// Every rank's text, on rank 0; empty elsewhere.
    virtual std::vector<std::string> gather(std::string const &mine) = 0;
    /// Rank 0's text, on every rank.
    virtual std::string spread(std::string const &text) = 0;
};

/// Collective, but sends nothing over MPI: the channel that the file `door` helps the ranks to open, or null on every
/// rank, where there is no such file, where it is a simulation, or where some rank cannot reach rank 0. The file says
/// `loopback` (all ranks are on one host) or `network`; rank 0 writes into it where it can be reached.
std::unique_ptr<BackChannel> open_back_channel(int rank, int size, std::string const &door);

} // namespace weft
