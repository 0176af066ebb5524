// SPDX-License-Identifier: BSD-3-Clause
#include "streams.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

std::size_t at(int index) {
    return std::size_t(index);
}

} // namespace

std::int64_t NodeCounts::sent_to(int local, std::span<int const> to) const {
    if (out == nullptr) {
        return uniform * std::int64_t(to.size());
    }
    std::int64_t sum = 0;
    for (int const rank : to) {
        sum += sent(local, rank);
    }
    return sum;
}

std::int64_t NodeCounts::received_by(int first, int last, int rank) const {
    if (in == nullptr) {
        return uniform * (last - first);
    }
    std::int64_t sum = 0;
    for (int local = first; local < last; ++local) {
        sum += received(local, rank);
    }
    return sum;
}

NodeStreams node_streams(Nodes const &nodes, int me, NodeCounts const &counts) {
    int const mates = nodes.size_of(nodes.node_of(me));
    int const local = nodes.local_of(me);
    NodeStreams made;
    made.out_bytes.assign(at(nodes.count()), 0);
    made.in_bytes.assign(at(nodes.count()), 0);
    made.out_at.assign(at(nodes.ranks()), 0);
    made.in_at.assign(at(nodes.ranks()), 0);
    for (int node = 0; node < nodes.count(); ++node) {
        auto const members = nodes.members(node);
        std::int64_t &out = made.out_bytes[at(node)];
        for (int source = 0; source < mates; ++source) {
            if (source != local) {
                out += counts.sent_to(source, members);
                continue;
            }
            for (int const rank : members) {
                made.out_at[at(rank)] = out;
                out += counts.sent(local, rank);
            }
        }
        std::int64_t &in = made.in_bytes[at(node)];
        for (int const rank : members) {
            made.in_at[at(rank)] = in + counts.received_by(0, local, rank);
            in = made.in_at[at(rank)] + counts.received_by(local, mates, rank);
        }
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
    for (int node = 0; node < nodes.count(); ++node) {
        auto const members = nodes.members(node);
        for (int mate = 0; mate < mates; ++mate) {
            made.out_bytes[at(mate) * at(nodes.count()) + at(node)] = counts.sent_to(mate, members);
        }
        std::int64_t sum = 0;
        for (int const rank : members) {
            made.out_at[at(rank)] = sum;
            sum += counts.sent(local, rank);
            made.in_at[at(rank)] = counts.received_by(0, local, rank);
            made.in_bytes[at(rank)] = made.in_at[at(rank)] + counts.received_by(local, mates, rank);
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
