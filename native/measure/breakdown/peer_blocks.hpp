// SPDX-License-Identifier: BSD-3-Clause
// The blocks of an all-to-all on one rank: where the block for each rank is, and where the block from each rank goes.
#pragma once

#include <mpi.h>

#include <vector>

namespace weft {

/// Elements of `type` in memory.
struct Block {
    void *data = nullptr;
    MPI_Count count = 0; ///< over INT_MAX only where MPI has calls for it
};

struct PeerBlocks {
    std::vector<Block> send;    ///< for each rank
    std::vector<Block> receive; ///< of each rank
    MPI_Datatype type = MPI_BYTE;
    bool equal = true;     ///< all blocks of all ranks have the same size
    bool keeps_own = true; ///< a rank's own block is copied too: not in place
};

} // namespace weft
