// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/local_sort.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

void sort_vectors(ConstVectors from, Vectors to, std::span<KeyPlace> index) {
    if (from.m == 1) {
        std::copy_n(from.data, from.count, to.data);
        std::sort(to.data, to.data + from.count);
        return;
    }
    for (std::uint64_t i = 0; i < from.count; ++i) {
        index[i] = {from.key(i), i};
    }
    std::sort(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(from.count));
    auto const bytes = from.m * sizeof(double);
    for (std::uint64_t i = 0; i < from.count; ++i) {
        std::memcpy(to[i].data(), from[index[i].place].data(), bytes);
    }
}

} // namespace weft
