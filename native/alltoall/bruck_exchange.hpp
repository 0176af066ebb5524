// SPDX-License-Identifier: BSD-3-Clause
// Bruck's exchange among any members: ranks, or nodes by one rank each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// A block in transit, not owned.
struct Held {
    std::byte const *data;
    std::int64_t bytes;
};

/// Members that exchange blocks; each is one of `ranks`.
struct BruckTeam {
    MPI_Comm comm;
    int tag;
    std::vector<int> ranks; // [member]
    int me;                 // member
    int radix;
};

/// Memory of received blocks.
using Kept = std::vector<std::vector<std::byte>>;

/// Before: `held[j]` is my block for member me + j. After: the block of member me - j for me. All modulo the members.
///
/// `equal`: all blocks of all members have one size; else each message carries the sizes of its blocks in front.
/// Received data stay in `kept`, which must live as long as `held` is read.
void bruck_exchange(BruckTeam const &team, std::vector<Held> &held, bool equal, Kept &kept);

} // namespace weft::alltoall
