// SPDX-License-Identifier: BSD-3-Clause
#include "nodes.hpp"

#include <algorithm>
#include <map>

namespace weft::alltoall {

Nodes::Nodes(std::span<int const> label_of_rank) {
    std::map<int, int> numbers;
    for (std::size_t rank = 0; rank < label_of_rank.size(); ++rank) {
        auto const [found, is_new] = numbers.try_emplace(label_of_rank[rank], int(numbers.size()));
        if (is_new) {
            members_.emplace_back();
        }
        auto &mates = members_[std::size_t(found->second)];
        node_of_.push_back(found->second);
        local_of_.push_back(int(mates.size()));
        mates.push_back(int(rank));
    }
    for (auto const &mates : members_) {
        largest_ = std::max(largest_, int(mates.size()));
        smallest_ = smallest_ == 0 ? int(mates.size()) : std::min(smallest_, int(mates.size()));
    }
}

} // namespace weft::alltoall
