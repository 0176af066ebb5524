// SPDX-License-Identifier: BSD-3-Clause
#include "streams.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

std::size_t at(int index) {
    return std::size_t(index);
}

} // namespace

NodeStreams node_streams(Nodes const &nodes, int me, NodeCounts const &counts) {
    int const home = nodes.node_of(me);
    int const mates = nodes.size_of(home);
    int const local = nodes.local_of(me);
    NodeStreams made;
    made.out_bytes.assign(at(nodes.count()), 0);
    made.in_bytes.assign(at(nodes.count()), 0);
    made.out_at.assign(at(nodes.ranks()), 0);
    made.in_at.assign(at(nodes.ranks()), 0);
    for (int node = 0; node < nodes.count(); ++node) {
        std::int64_t sum = 0;
        for (int source = 0; source < mates; ++source) {
            for (int const rank : nodes.members(node)) {
                if (source == local) {
                    made.out_at[at(rank)] = sum;
                }
                sum += counts.sent(source, rank);
            }
        }
        made.out_bytes[at(node)] = sum;
        sum = 0;
        for (int const rank : nodes.members(node)) {
            for (int target = 0; target < mates; ++target) {
                if (target == local) {
                    made.in_at[at(rank)] = sum;
                }
                sum += counts.received(target, rank);
            }
        }
        made.in_bytes[at(node)] = sum;
    }
    return made;
}

RankStreams rank_streams(Nodes const &nodes, int me, NodeCounts const &counts) {
    int const mates = nodes.size_of(nodes.node_of(me));
    int const local = nodes.local_of(me);
    RankStreams made;
    made.out_bytes.assign(at(mates) * at(nodes.count()), 0);
    made.in_bytes.assign(at(nodes.ranks()), 0);
    made.out_at.assign(at(nodes.ranks()), 0);
    made.in_at.assign(at(nodes.ranks()), 0);
    for (int rank = 0; rank < nodes.ranks(); ++rank) {
        for (int mate = 0; mate < mates; ++mate) {
            // the members of a node are ascending, so this is the order [destination rank]
            std::int64_t &sum = made.out_bytes[at(mate) * at(nodes.count()) + at(nodes.node_of(rank))];
            if (mate == local) {
                made.out_at[at(rank)] = sum;
                made.in_at[at(rank)] = made.in_bytes[at(rank)];
            }
            sum += counts.sent(mate, rank);
            made.in_bytes[at(rank)] += counts.received(mate, rank);
        }
    }
    return made;
}

std::int64_t fragment_bytes(std::int64_t total, std::int64_t fragment, std::int64_t length) {
    return std::clamp<std::int64_t>(total - fragment * length, 0, length);
}

std::vector<std::vector<Item>> batches(Nodes const &nodes, int node, ItemSizes const &sizes, std::int64_t capacity) {
    auto const size_of = [](std::vector<std::vector<std::int64_t>> const &table, int of, std::size_t fragment) {
        return fragment < table[at(of)].size() ? table[at(of)][fragment] : 0;
    };
    std::size_t fragments = 0;
    for (auto const *table : {&sizes.out, &sizes.in}) {
        for (auto const &each : *table) {
            fragments = std::max(fragments, each.size());
        }
    }
    std::vector<std::vector<Item>> made;
    std::int64_t out = 0;
    std::int64_t in = 0;
    int const count = nodes.count();
    for (std::size_t fragment = 0; fragment < fragments; ++fragment) {
        for (int step = 0; step < count; ++step) {
            int const to = (node + step) % count;
            int const from = (node - step + count) % count;
            std::int64_t const out_bytes = size_of(sizes.out, to, fragment);
            std::int64_t const in_bytes = size_of(sizes.in, from, fragment);
            if (out_bytes == 0 && in_bytes == 0) {
                continue;
            }
            if (made.empty() || out + out_bytes > capacity || in + in_bytes > capacity) {
                made.emplace_back();
                out = in = 0;
            }
            made.back().push_back({to, from, std::int64_t(fragment), out, in});
            out += out_bytes;
            in += in_bytes;
        }
    }
    return made;
}

int owner_of(Nodes const &nodes, int node, int other, int leaders) {
    return (node + other) % std::min(leaders, nodes.size_of(node));
}

} // namespace weft::alltoall
