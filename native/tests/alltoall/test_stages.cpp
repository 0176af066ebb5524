// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of node.multi without ranks: pieces and stages, and a run of all nodes' pipelines against each other.
#include "sizes_of_pairs.hpp"
#include "stages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace weft::alltoall;

namespace {

constexpr std::int64_t capacity = std::int64_t(1) << 20;

/// Bytes of the stream from a node to a node: none, small, and several times the least piece.
std::int64_t stream(int from, int to) {
    bool const none = from != to && (from * 7 + to * 13) % 5 == 0; // the own node's is never empty
    return none ? 0 : (std::int64_t(from * 37 + to * 911) % 97 + 1) * 1000;
}

ItemSizes cut(int node, int nodes, int stages) {
    ItemSizes sizes;
    for (int other = 0; other < nodes; ++other) {
        for (bool const out : {true, false}) {
            std::int64_t const bytes = out ? stream(node, other) : stream(other, node);
            auto &table = out ? sizes.out : sizes.in;
            table.emplace_back();
            for (std::int64_t left = out && other == node ? 0 : bytes; left > 0; left -= table.back().back()) {
                table.back().push_back(std::min(left, piece_length(bytes, nodes, stages, capacity / 4)));
            }
        }
    }
    return sizes;
}

std::int64_t piece_of(std::vector<std::vector<std::int64_t>> const &table, int node, std::int64_t fragment) {
    auto const &row = table[std::size_t(node)];
    return std::size_t(fragment) < row.size() ? row[std::size_t(fragment)] : 0;
}

using Piece = std::tuple<int, int, std::int64_t>; // from, to, fragment

/// One node's pipeline, as node_multi.cpp runs it: a stage is started when the last but one has arrived.
struct Pipeline {
    std::vector<Stage> stages; // of all batches
    std::size_t started = 0;
    std::size_t arrived = 0;
};

Pipeline pipeline(int node, Nodes const &nodes, int stages) {
    Pipeline made;
    ItemSizes const sizes = cut(node, nodes.count(), stages);
    for (auto const &batch : batches(nodes, node, sizes, capacity)) {
        for (Stage &stage : stages_of(batch, node, sizes, stages)) {
            made.stages.push_back(std::move(stage));
        }
    }
    return made;
}

auto place(Item const &item) {
    return std::tuple(item.to, item.from, item.fragment, item.out_at, item.in_at);
}

/// The items of a node's own blocks are in the second stage, if there is one, and all of them.
void check_own(std::vector<Item> const &batch, int node, std::vector<Stage> const &made) {
    std::size_t own = 0;
    for (std::size_t s = 0; s < made.size(); ++s) {
        own += made[s].own.size();
        CHECK((made[s].own.empty() || s == std::min<std::size_t>(1, made.size() - 1)));
        for (Item const &item : made[s].own) {
            CHECK(item.to == node);
            CHECK(item.from == node);
        }
    }
    CHECK(own == std::size_t(std::count_if(batch.begin(), batch.end(), [&](auto &each) { return each.to == node; })));
}

void check_messages(std::vector<Item> const &batch, int node, std::vector<Stage> const &made) {
    std::vector<Item> seen, wanted;
    for (Stage const &stage : made) {
        seen.insert(seen.end(), stage.messages.begin(), stage.messages.end());
    }
    std::copy_if(batch.begin(), batch.end(), std::back_inserter(wanted), [&](auto &each) { return each.to != node; });
    CHECK(std::equal(seen.begin(), seen.end(), wanted.begin(), wanted.end(),
                     [](Item const &a, Item const &b) { return place(a) == place(b); }));
    if (made.size() > 2) {
        CHECK(made.front().messages.size() == 1);
        CHECK(made.back().messages.size() == 1);
    }
}

/// All nodes' pipelines, and the messages between them.
class Network {
  public:
    Network(int count, int stages) : nodes_(fake_labels("block:1", count)) {
        for (int node = 0; node < count; ++node) {
            sizes_.push_back(cut(node, count, stages));
            all.push_back(pipeline(node, nodes_, stages));
        }
    }

    /// Lets a node start its next stage if the last but one has arrived; false if it cannot.
    bool start(int node) {
        Pipeline &own = all[std::size_t(node)];
        if (own.started == own.stages.size() || own.started == own.arrived + 2) {
            return false;
        }
        for (Item const &item : own.stages[own.started++].messages) {
            if (auto const bytes = piece_of(sizes_[std::size_t(node)].out, item.to, item.fragment); bytes > 0) {
                CHECK(sent.emplace(Piece{node, item.to, item.fragment}, bytes).second);
            }
        }
        return true;
    }

    /// Lets a node's oldest stage end if all its messages were sent; false if not.
    bool arrive(int node) {
        Pipeline &own = all[std::size_t(node)];
        if (own.arrived == own.started) {
            return false;
        }
        auto const bytes = [&](Item const &item) {
            return piece_of(sizes_[std::size_t(node)].in, item.from, item.fragment);
        };
        auto const &items = own.stages[own.arrived].messages;
        if (!std::all_of(items.begin(), items.end(), [&](Item const &item) {
                return bytes(item) == 0 || sent.contains(Piece{item.from, node, item.fragment});
            })) {
            return false;
        }
        ++own.arrived;
        for (Item const &item : items) {
            if (bytes(item) > 0) {
                CHECK(received.emplace(item.from, node, item.fragment).second);
                CHECK(sent.at(Piece{item.from, node, item.fragment}) == bytes(item));
                total += bytes(item);
            }
        }
        return true;
    }

    std::vector<Pipeline> all;
    std::map<Piece, std::int64_t> sent;
    std::set<Piece> received;
    std::int64_t total = 0;

  private:
    Nodes nodes_;
    std::vector<ItemSizes> sizes_;
};

} // namespace

TEST_CASE("pieces cover a stream, none is too small or too large, and there are as many as stages at least") {
    for (std::int64_t const bytes : {1, 16'384, 16'385, 100'000, 10'000'000}) {
        for (int const nodes : {2, 8, 36}) {
            for (int const stages : {1, 2, 12, 64}) {
                std::int64_t const length = piece_length(bytes, nodes, stages, 1 << 20);
                CHECK(length <= 1 << 20);
                CHECK(length >= std::min<std::int64_t>(least_piece, 1 << 20));
                std::int64_t const pieces = (bytes + length - 1) / length;
                if (length > least_piece) {
                    CHECK(pieces * (nodes - 1) >= stages);
                }
                if (length > least_piece && length < 1 << 20) {
                    CHECK((pieces - 1) * (nodes - 1) < stages); // and no more: each costs a gap
                }
            }
        }
    }
    CHECK(piece_length(1 << 20, 2, 12, 4096) == 4096); // the staging's limit comes first
    CHECK(piece_length(0, 2, 12, 4096) == 4096);
}

TEST_CASE("stages hold every item once and in order; the first and the last have one; the own node's is second") {
    for (int const count : {2, 3, 5, 8, 17, 36}) {
        Nodes const nodes(fake_labels("block:1", count));
        for (int const stages : {1, 2, 3, 4, 12, 64, 1024}) {
            for (int node = 0; node < count; ++node) {
                CAPTURE(count);
                CAPTURE(stages);
                ItemSizes const sizes = cut(node, count, stages);
                for (auto const &batch : batches(nodes, node, sizes, capacity)) {
                    auto const made = stages_of(batch, node, sizes, stages);
                    CHECK(made.size() <= std::size_t(stages));
                    check_own(batch, node, made);
                    check_messages(batch, node, made);
                }
            }
        }
    }
}

TEST_CASE("stages between the first and the last have about the same bytes") {
    Nodes const nodes(fake_labels("block:1", 36));
    ItemSizes sizes;
    for (int node = 0; node < 36; ++node) {
        sizes.out.push_back(node == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{32'768});
        sizes.in.push_back({32'768});
    }
    auto const batch = batches(nodes, 0, sizes, std::int64_t(1) << 30);
    REQUIRE(batch.size() == 1);
    auto const made = stages_of(batch[0], 0, sizes, 13);
    CHECK(made.size() == 13);
    for (std::size_t s = 1; s + 1 < made.size(); ++s) {
        CHECK(made[s].messages.size() == 3); // 33 pieces in 11 stages
    }
    CHECK(stages_of(batch[0], 0, sizes, 1).size() == 1);
    sizes.in.assign(36, {64});
    sizes.out.assign(36, {64});
    CHECK(stages_of(batch[0], 0, sizes, 13).size() == 1); // 36 messages of 64 bytes are not worth a barrier
}

TEST_CASE("the pipelines of all nodes end, whatever their batches, and each piece is sent and received once") {
    for (int const count : {2, 3, 8, 17}) {
        for (int const stages : {1, 2, 5, 64}) {
            Network network(count, stages);
            std::int64_t wanted = 0;
            for (bool moved = true; moved;) {
                moved = false;
                for (int node = 0; node < count; ++node) {
                    moved = network.start(node) || moved;
                    moved = network.arrive(node) || moved;
                }
            }
            for (int from = 0; from < count; ++from) {
                auto const &own = network.all[std::size_t(from)];
                CHECK(own.arrived == own.stages.size()); // else all wait for each other
                for (int to = 0; to < count; ++to) {
                    wanted += from == to ? 0 : stream(from, to);
                }
            }
            CHECK(network.total == wanted);
            CHECK(network.sent.size() == network.received.size());
        }
    }
}
