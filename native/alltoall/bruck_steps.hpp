// SPDX-License-Identifier: BSD-3-Clause
// The steps of a radix-r Bruck exchange, without rotations. Pure: no MPI.
//
// J. Bruck et al., IEEE TPDS 8(11), 1997. A block for the member at distance j is forwarded by the digits of j in base
// r: for digit k with value z it moves by z * r^k. Blocks are identified by j, wherever they are.
#pragma once

#include <vector>

namespace weft::alltoall {

/// One message: to member me + `distance`, with the blocks of these distances.
struct BruckStep {
    int distance;            // z * r^k, below n
    std::vector<int> blocks; // all j whose digit k is z, ascending
};

/// Rounds of steps. The messages of a round go to different members and are independent; each round depends on the one
/// before. `members` >= 1, `radix` >= 2.
std::vector<std::vector<BruckStep>> bruck_rounds(int members, int radix);

} // namespace weft::alltoall
