// SPDX-License-Identifier: BSD-3-Clause
#include "bruck_steps.hpp"

#include <cstdint>

namespace weft::alltoall {

std::vector<std::vector<BruckStep>> bruck_rounds(int members, int radix) {
    std::vector<std::vector<BruckStep>> rounds;
    // 64 bits: weight * radix may pass 2^31. Digits by integer division: floating-point logarithms miss exact powers.
    for (std::int64_t weight = 1; weight < members; weight *= radix) {
        std::vector<BruckStep> round;
        for (std::int64_t digit = 1; digit < radix && digit * weight < members; ++digit) {
            round.push_back({int(digit * weight), {}});
        }
        for (std::int64_t j = weight; j < members; ++j) {
            if (std::int64_t const digit = j / weight % radix; digit > 0) {
                round[std::size_t(digit - 1)].blocks.push_back(int(j));
            }
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

} // namespace weft::alltoall
