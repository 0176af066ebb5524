// SPDX-License-Identifier: BSD-3-Clause
// Tests without ranks: nodes, streams, batches and lanes for any number of ranks.
#include "error.hpp"
#include "lanes.hpp"
#include "nodes.hpp"
#include "sizes_of_pairs.hpp"
#include "streams.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace weft::alltoall;

namespace {

std::vector<std::string> const fakes{"block:1",    "block:3",    "block:4",     "cyclic:4",
                                     "random:4:7", "random:9:1", "sizes:3,5,8", "block:1000"};

Nodes placed(std::string const &fake, int ranks) {
    return Nodes(fake_labels(fake, ranks));
}

/// Checks that each byte of a stream is in exactly one part; returns the stream's length.
std::int64_t check_seamless(std::vector<std::pair<std::int64_t, std::int64_t>> &parts) {
    std::sort(parts.begin(), parts.end());
    std::int64_t at = 0;
    for (auto const &[start, bytes] : parts) {
        CHECK(start == at);
        at += bytes;
    }
    return at;
}

/// Fragments of uneven streams between a node and each other, in both directions; adds up their bytes.
ItemSizes fragments_of(int node, int nodes, std::int64_t length, std::int64_t &total) {
    ItemSizes sizes;
    for (int other = 0; other < nodes; ++other) {
        for (auto *table : {&sizes.out, &sizes.in}) {
            table->emplace_back();
            for (std::int64_t left = (node * 37 + other * 911) % 4500; left > 0; left -= length) {
                table->back().push_back(std::min(left, length));
                total += table->back().back();
            }
        }
    }
    return sizes;
}

/// Checks that a block has the same offset in its region at both ends.
void check_both_ends(Nodes const &nodes, int lanes, Slice const &slice, std::vector<LaneLayout> const &of_rank) {
    for (int source = 0; source < 17; ++source) {
        for (int target = 0; target < 17; ++target) {
            int const lane = nodes.local_of(source) % lanes;
            auto const &sender = of_rank[std::size_t(nodes.members(nodes.node_of(source))[std::size_t(lane)])];
            auto const &receiver = of_rank[std::size_t(nodes.members(nodes.node_of(target))[std::size_t(lane)])];
            if (slice.of(bytes_between(source, target)) > 0) {
                CHECK(of_rank[std::size_t(source)].out_at[std::size_t(target)] -
                          sender.out[std::size_t(nodes.node_of(target))].at ==
                      of_rank[std::size_t(target)].in_at[std::size_t(source)] -
                          receiver.in[std::size_t(nodes.node_of(source))].at);
            }
        }
    }
}

} // namespace

TEST_CASE("nodes are numbered by their lowest ranks, in any placement") {
    Nodes const nodes(std::vector<int>{9, 4, 9, 4, 4, 7});
    CHECK(nodes.count() == 3);
    CHECK(nodes.node_of(2) == 0);
    CHECK(nodes.local_of(4) == 2);
    CHECK(nodes.members(1)[2] == 4);
    CHECK(nodes.largest() == 3);
    CHECK(nodes.smallest() == 1);
    CHECK(placed("sizes:3,5,8", 20).size_of(3) == 3); // from the start again, then cut
    CHECK(placed("sizes:3,5,8", 20).count() == 5);
    for (char const *wrong :
         {"block", "block:0", "block:x", "blocks:3", "random:3", "sizes:", "cyclic:3:4", "block:3,4"}) {
        CHECK_THROWS_AS(fake_labels(wrong, 4), Error);
    }
}

TEST_CASE("two nodes see one stream: what one sends lies where the other looks") {
    for (int const p : {1, 2, 5, 8, 17, 24, 31, 48}) {
        for (std::string const &fake : fakes) {
            Nodes const nodes = placed(fake, p);
            std::vector<NodeStreams> of_rank;
            std::vector<RankStreams> direct;
            for (int rank = 0; rank < p; ++rank) {
                Tables const tables(nodes, nodes.node_of(rank));
                of_rank.push_back(node_streams(nodes, rank, tables.counts()));
                direct.push_back(rank_streams(nodes, rank, tables.counts()));
            }
            std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> parts(
                std::size_t(nodes.count() * nodes.count()));
            for (int source = 0; source < p; ++source) {
                for (int target = 0; target < p; ++target) {
                    int const a = nodes.node_of(source), b = nodes.node_of(target);
                    auto const &out = of_rank[std::size_t(source)];
                    auto const &in = of_rank[std::size_t(target)];
                    CHECK(out.out_at[std::size_t(target)] == in.in_at[std::size_t(source)]);
                    CHECK(out.out_bytes[std::size_t(b)] == in.in_bytes[std::size_t(a)]);
                    CHECK(direct[std::size_t(source)].out_at[std::size_t(target)] ==
                          direct[std::size_t(target)].in_at[std::size_t(source)]);
                    CHECK(direct[std::size_t(source)]
                              .out_bytes[std::size_t(nodes.local_of(source) * nodes.count() + b)] ==
                          direct[std::size_t(target)].in_bytes[std::size_t(source)]);
                    parts[std::size_t(a * nodes.count() + b)].emplace_back(out.out_at[std::size_t(target)],
                                                                           bytes_between(source, target));
                }
            }
            for (std::size_t pair = 0; pair < parts.size(); ++pair) {
                std::int64_t const at = check_seamless(parts[pair]);
                int const first = nodes.members(int(pair) / nodes.count())[0];
                CHECK(at == of_rank[std::size_t(first)].out_bytes[pair % std::size_t(nodes.count())]);
            }
        }
    }
}

TEST_CASE("equal blocks lie where a table of equal sizes puts them") {
    for (std::string const &fake : fakes) {
        int const p = 17;
        Nodes const nodes = placed(fake, p);
        std::vector<std::int64_t> const table(std::size_t(p * p), 1200);
        NodeCounts const equal{1200, nullptr, nullptr, p}, listed{0, table.data(), table.data(), p};
        for (int rank = 0; rank < p; ++rank) {
            NodeStreams const one = node_streams(nodes, rank, equal), other = node_streams(nodes, rank, listed);
            CHECK(one.out_bytes == other.out_bytes);
            CHECK(one.in_bytes == other.in_bytes);
            CHECK(one.out_at == other.out_at);
            CHECK(one.in_at == other.in_at);
            RankStreams const mine = rank_streams(nodes, rank, equal), same = rank_streams(nodes, rank, listed);
            CHECK(mine.out_bytes == same.out_bytes);
            CHECK(mine.in_bytes == same.in_bytes);
            CHECK(mine.out_at == same.out_at);
            CHECK(mine.in_at == same.in_at);
            Slice const slice{500, 1000};
            LaneLayout const lanes = lane_layout(nodes, rank, equal, nodes.smallest(), slice),
                             also = lane_layout(nodes, rank, listed, nodes.smallest(), slice);
            CHECK(lanes.out_at == also.out_at);
            CHECK(lanes.in_at == also.in_at);
            CHECK(lanes.out_bytes == also.out_bytes);
            CHECK(lanes.in_bytes == also.in_bytes);
        }
    }
}

TEST_CASE("batches hold every fragment once, in one order, within the staging") {
    std::int64_t const length = 1000, capacity = 3000;
    for (int const p : {2, 5, 17, 48}) {
        Nodes const nodes = placed("sizes:3,5,8", p);
        for (int node = 0; node < nodes.count(); ++node) {
            std::int64_t total = 0;
            ItemSizes const sizes = fragments_of(node, nodes.count(), length, total);
            std::pair<std::int64_t, int> last{-1, -1};
            for (auto const &batch : batches(nodes, node, sizes, capacity)) {
                std::int64_t out = 0, in = 0;
                for (Item const &item : batch) {
                    std::pair<std::int64_t, int> const now{item.fragment,
                                                           (item.to - node + nodes.count()) % nodes.count()};
                    CHECK(now > last); // (fragment, step), the same order on all nodes
                    CHECK((node - item.from + nodes.count()) % nodes.count() == now.second);
                    last = now;
                    CHECK(item.out_at == out);
                    CHECK(item.in_at == in);
                    auto const size = [&](auto const &table, int other) {
                        auto const &row = table[std::size_t(other)];
                        return std::size_t(item.fragment) < row.size() ? row[std::size_t(item.fragment)] : 0;
                    };
                    out += size(sizes.out, item.to);
                    in += size(sizes.in, item.from);
                }
                CHECK(out <= capacity);
                CHECK(in <= capacity);
                total -= out + in;
            }
            CHECK(total == 0);
        }
    }
    CHECK(fragment_bytes(2500, 2, 1000) == 500);
    CHECK(fragment_bytes(2000, 2, 1000) == 0);
    CHECK(fragment_bytes(std::int64_t(1) << 40, (std::int64_t(1) << 20) - 1, 1 << 20) == 1 << 20);
}

TEST_CASE("the owner of a pair of nodes is symmetric, and work is shared evenly") {
    Nodes const nodes = placed("block:8", 8 * 36);
    std::vector<int> peers(8, 0);
    for (int a = 0; a < 36; ++a) {
        for (int b = 0; b < 36; ++b) {
            CHECK(owner_of(nodes, a, b, 8) == owner_of(nodes, b, a, 8));
        }
    }
    for (int b = 1; b < 36; ++b) {
        ++peers[std::size_t(owner_of(nodes, 0, b, 8))];
    }
    CHECK(*std::min_element(peers.begin(), peers.end()) ==
          4); // 35 connections per node, where all pairs of ranks need 2240
    CHECK(*std::max_element(peers.begin(), peers.end()) == 5);
    CHECK(owner_of(placed("sizes:3,5,8", 16), 0, 2, 8) == 2); // no more owners than ranks
}

TEST_CASE("lanes cover the staging without holes, and both ends agree on them") {
    Slice const slice{500, 1000};
    for (std::string const &fake : fakes) {
        Nodes const nodes = placed(fake, 17);
        int const lanes = nodes.smallest();
        std::vector<LaneLayout> of_rank;
        for (int rank = 0; rank < 17; ++rank) {
            Tables const tables(nodes, nodes.node_of(rank));
            of_rank.push_back(lane_layout(nodes, rank, tables.counts(), lanes, slice));
        }
        for (int node = 0; node < nodes.count(); ++node) {
            std::int64_t out = 0, in = 0;
            for (int lane = 0; lane < lanes; ++lane) {
                auto const &layout = of_rank[std::size_t(nodes.members(node)[std::size_t(lane)])];
                for (int other = 0; other < nodes.count(); ++other) {
                    Region const &going = layout.out[std::size_t(other)];
                    CHECK((going.bytes == 0 || going.at == out));
                    out += going.bytes;
                    Region const &coming = layout.in[std::size_t(other)];
                    CHECK((coming.bytes == 0 || coming.at == in));
                    in += coming.bytes;
                    auto const &peer = of_rank[std::size_t(nodes.members(other)[std::size_t(lane)])];
                    CHECK(peer.in[std::size_t(node)].bytes == going.bytes);
                }
            }
            CHECK(out == of_rank[std::size_t(nodes.members(node)[0])].out_bytes);
            CHECK(in == of_rank[std::size_t(nodes.members(node)[0])].in_bytes);
        }
        check_both_ends(nodes, lanes, slice, of_rank);
    }
}
