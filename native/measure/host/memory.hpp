// SPDX-License-Identifier: BSD-3-Clause
// The memory guard (METHOD 22): a cell that does not fit becomes a row with status `memory`, instead of swapping or an
// OOM kill.
#pragma once

#include "mpi/team.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The memory that one rank will allocate.
struct Need {
    struct Part {
        std::string name; ///< like "sorted" or "library staging"
        std::int64_t bytes;
    };
    std::vector<Part> parts;

    std::int64_t total() const;
    /// Like "unsorted 4096 + sorted 4096 = 8192 bytes a rank".
    std::string formula() const;
};

/// The guard's result; the same on every rank.
struct Verdict {
    bool fits = true;
    std::int64_t need_rank_bytes = 0;      ///< of the rank with the largest need
    std::int64_t need_node_bytes = 0;      ///< of the node with the least memory to spare
    std::int64_t available_node_bytes = 0; ///< on that node
    std::string formula;                   ///< of that rank
    std::string reason;                    ///< empty when it fits
};

/// Memory of MPI itself once the ranks have exchanged messages: shared segments, and eager buffers for each peer. A
/// high estimate for the default settings of Open MPI, MPICH and MVAPICH2; weft.kernel.exchange uses the same.
constexpr std::int64_t library_staging_bytes(int ranks) {
    return (std::int64_t{32} << 20) + (std::int64_t{128} << 10) * ranks;
}

/// Collective. `limit_bytes` is the scheduler's limit for a node, 0 without one.
Verdict guard_memory(Team const &team, Need const &mine, std::int64_t limit_bytes);

} // namespace weft
