// SPDX-License-Identifier: BSD-3-Clause
#include "stages.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

std::int64_t bytes_of(std::vector<std::vector<std::int64_t>> const &table, int node, std::int64_t fragment) {
    auto const &row = table[std::size_t(node)];
    return std::size_t(fragment) < row.size() ? row[std::size_t(fragment)] : 0;
}

/// What an item costs the network: the adapter sends and receives at once.
std::int64_t weight(Item const &item, ItemSizes const &sizes) {
    return std::max(bytes_of(sizes.out, item.to, item.fragment), bytes_of(sizes.in, item.from, item.fragment));
}

} // namespace

std::int64_t piece_length(std::int64_t bytes, int nodes, int stages, std::int64_t most) {
    std::int64_t const streams = std::max(nodes - 1, 1);
    std::int64_t const pieces = (stages + streams - 1) / streams;
    return std::min(most, std::max(least_piece, (bytes + pieces - 1) / pieces));
}

std::vector<Stage> stages_of(std::vector<Item> const &batch, int home, ItemSizes const &sizes, int stages) {
    std::vector<Item> own, messages;
    std::int64_t total = 0;
    for (Item const &item : batch) {
        (item.to == home ? own : messages).push_back(item);
        total += item.to == home ? 0 : weight(item, sizes);
    }
    std::int64_t const most = std::min<std::int64_t>(stages, std::int64_t(messages.size()));
    std::int64_t const count = std::max<std::int64_t>(1, std::min(most, total / least_piece));
    std::vector<Stage> made(static_cast<std::size_t>(count));
    if (count < 3) { // no stage between the first and the last
        for (std::size_t i = 0; i < messages.size(); ++i) {
            made[count == 2 && i > 0 ? 1 : 0].messages.push_back(messages[i]);
        }
    } else {
        std::int64_t const inner = total - weight(messages.front(), sizes) - weight(messages.back(), sizes);
        std::int64_t before = 0; // bytes of the items between the first and this one
        made.front().messages.push_back(messages.front());
        for (std::size_t i = 1; i + 1 < messages.size(); ++i) {
            std::int64_t const at = before * (count - 2) / std::max<std::int64_t>(inner, 1);
            made[std::size_t(1 + std::min(at, count - 3))].messages.push_back(messages[i]);
            before += weight(messages[i], sizes);
        }
        made.back().messages.push_back(messages.back());
    }
    made[count > 1 ? 1 : 0].own = std::move(own);
    std::erase_if(made, [](Stage const &stage) { return stage.messages.empty() && stage.own.empty(); });
    return made;
}

} // namespace weft::alltoall
