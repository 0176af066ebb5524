// SPDX-License-Identifier: BSD-3-Clause
// The blocks of an all-to-all as one rank sees them: where that for each other rank lies, and where each one's goes.
#pragma once

#include <mpi.h>

#include <vector>

namespace weft {

/// Elements of `type` somewhere in memory.
struct Block {
    void *data = nullptr;
    int count = 0;
};

struct PeerBlocks {
    std::vector<Block> send;    ///< for each rank
    std::vector<Block> receive; ///< of each rank
    MPI_Datatype type = MPI_BYTE;
    bool equal = true;     ///< all blocks of all ranks alike
    bool keeps_own = true; ///< the block of a rank for itself is copied, too: not in place
};

} // namespace weft
