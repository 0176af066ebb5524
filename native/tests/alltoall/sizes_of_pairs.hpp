// SPDX-License-Identifier: BSD-3-Clause
// Different sizes for all pairs of ranks, for tests of schedules without ranks.
#pragma once

#include "nodes.hpp"
#include "streams.hpp"

#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// A distinct size for each pair; zero for some, beyond 2^31 for some.
inline std::int64_t bytes_between(int source, int target) {
    return (source * 7 + target * 13) % 5 == 0
               ? 0
               : std::int64_t(source + 1) * 1'000'003 + target * 17 + (target == 3 ? std::int64_t(1) << 33 : 0);
}

/// The tables of a node's counts.
struct Tables {
    Tables(Nodes const &nodes, int node) : ranks(nodes.ranks()) {
        for (int const mate : nodes.members(node)) {
            for (int rank = 0; rank < ranks; ++rank) {
                out.push_back(bytes_between(mate, rank));
                in.push_back(bytes_between(rank, mate));
            }
        }
    }
    NodeCounts counts() const { return {0, out.data(), in.data(), ranks}; }

    int ranks;
    std::vector<std::int64_t> out, in;
};

} // namespace weft::alltoall
