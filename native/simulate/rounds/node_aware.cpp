// SPDX-License-Identifier: BSD-3-Clause
// node.direct, node.multi and node.bruck of native/alltoall for equal blocks: messages between nodes, copies in shared
// memory, and the barriers of a node's ranks.
#include "own.hpp"

#include "../../alltoall/stages.hpp"

#include <algorithm>
#include <map>

namespace weft::rounds {
namespace {

using alltoall::fragment_bytes;
using alltoall::Item;
using alltoall::ItemSizes;
using alltoall::Nodes;
using alltoall::Stage;

constexpr std::int64_t least_staging = 1 << 14, most_staging = 1 << 25, requests = 1 << 10;

std::int64_t staging_of(Nodes const &nodes, std::int64_t block) {
    auto const asked = double(block) * nodes.ranks() * nodes.largest();
    auto bytes = least_staging;
    while (double(bytes) < asked && bytes < most_staging)
        bytes *= 2;
    return bytes;
}

// Bytes in whole cache lines of a block at a place of its stream that are in [low, high) of it.
double part_of(std::int64_t at, std::int64_t block, std::int64_t low, std::int64_t high) {
    auto const bytes = std::min(at + block, high) - std::max(at, low);
    return bytes > 0 ? in_lines(double(bytes)) : 0;
}

// The ranks of a node meet in its shared memory: one line of the cache after the other.
void meet(Acts &acts, Nodes const &nodes, std::int32_t node) {
    acts.push_back({Does::meet, node});
    for (auto reach = 1; reach < nodes.size_of(node); reach *= 2)
        acts.push_back({Does::copy, -1, in_lines(1)});
}

class NodeAware : public Schedule {
  public:
    NodeAware(Nodes const &nodes, Call const &call)
        : nodes_(nodes), call_(call), block_(std::int64_t(call.bytes)), staging_(staging_of(nodes, block_)) {
        auto const share = staging_ / std::clamp(nodes.count() - 1, 1, 16);
        fragment_ = std::max(share, std::min(staging_, least_staging));
    }

  protected:
    void begin(Acts &acts, std::int32_t rank) const {
        agree(acts, rank, nodes_.ranks(), call_.asked);
        meet(acts, nodes_, nodes_.node_of(rank));
    }

    Nodes const &nodes_;
    Call call_;
    std::int64_t block_, staging_, fragment_;
};

// A message from each rank to each other node.
class Direct : public NodeAware {
  public:
    Direct(Nodes const &nodes, Call const &call)
        : NodeAware(nodes, call), length_(std::max<std::int64_t>(1, fragment_ / nodes.largest())) {}
    std::int32_t slots() const override {
        auto const heard = nodes_.largest() / nodes_.smallest() + 2;
        return std::max(heard, std::int32_t(std::min<std::int64_t>(call_.parameter, requests)) / nodes_.largest());
    }
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const home = nodes_.node_of(rank);
        if (s == 0) {
            begin(acts, rank);
            return true;
        }
        auto const &all = batches(home);
        auto left = std::size_t(s - 1);
        for (auto const &batch : all) {
            if (left < batch.size()) {
                if (left == 0 && &batch != all.data())
                    meet(acts, nodes_, home);
                exchange(rank, batch[left], acts);
                return true;
            }
            if (left == batch.size()) {
                acts.push_back({Does::all});
                meet(acts, nodes_, home);
                acts.push_back({Does::charge, -1, copied(rank, batch)});
                return true;
            }
            left -= batch.size() + 1;
        }
        return false;
    }

  private:
    std::int64_t piece(std::int32_t to_node, std::int64_t fragment) const {
        return fragment_bytes(nodes_.size_of(to_node) * block_, fragment, length_);
    }

    void exchange(std::int32_t rank, Item const &item, Acts &acts) const {
        auto const home = nodes_.node_of(rank), local = nodes_.local_of(rank), mates = nodes_.size_of(home);
        auto const in = piece(home, item.fragment), out = piece(item.to, item.fragment);
        auto const low = item.fragment * length_;
        if (item.from == home) {
            for (auto i = 0; i < mates; ++i)
                acts.push_back({Does::charge, -1, part_of(i * block_, block_, low, low + in)});
            return;
        }
        for (auto const from : nodes_.members(item.from))
            if (in > 0 && nodes_.local_of(from) % mates == local)
                acts.push_back({Does::receive, from});
        if (out > 0)
            acts.push_back(
                {Does::send, nodes_.members(item.to)[std::size_t(local % nodes_.size_of(item.to))], double(out)});
    }

    double copied(std::int32_t rank, std::vector<Item> const &batch) const {
        auto const home = nodes_.node_of(rank), local = nodes_.local_of(rank);
        auto sum = 0.0;
        for (auto const &item : batch) {
            auto const low = item.fragment * length_, high = low + piece(home, item.fragment);
            sum += nodes_.size_of(item.from) * part_of(local * block_, block_, low, high);
        }
        return sum;
    }

    std::vector<std::vector<Item>> const &batches(std::int32_t home) const {
        auto const [found, is_new] = batches_.try_emplace(home);
        if (is_new) {
            ItemSizes sizes;
            for (auto node = 0; node < nodes_.count(); ++node) {
                auto &out = sizes.out.emplace_back(), &in = sizes.in.emplace_back();
                for (std::int64_t f = 0; node != home && piece(node, f) > 0; ++f)
                    out.push_back(nodes_.size_of(home) * piece(node, f));
                for (std::int64_t f = 0; piece(home, f) > 0; ++f)
                    in.push_back(nodes_.size_of(node) * piece(home, f));
            }
            found->second = alltoall::batches(nodes_, home, sizes, staging_);
        }
        return found->second;
    }

    std::int64_t length_;
    std::map<std::int32_t, std::vector<std::vector<Item>>> mutable batches_;
};

// A message for each pair of nodes, in stages: copies of some while messages of others are under way.
class Multi : public NodeAware {
  public:
    using NodeAware::NodeAware;
    std::int32_t slots() const override {
        auto const leaders = std::min(call_.parameter, nodes_.smallest());
        return std::int32_t(std::max<std::int64_t>(2, requests / leaders));
    }
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        if (s == 0) {
            begin(acts, rank);
            return true;
        }
        auto left = std::size_t(s - 1);
        auto const &all = batches(nodes_.node_of(rank));
        for (auto const &stages : all) {
            if (left < stages.size() + 2) {
                if (left == 0 && &stages != all.data())
                    meet(acts, nodes_, nodes_.node_of(rank));
                if (left != 1 || stages.size() > 1)
                    go_on(rank, stages, left, acts);
                return true;
            }
            left -= stages.size() + 2;
        }
        return false;
    }

  private:
    std::int64_t stream(std::int32_t a, std::int32_t b) const {
        return std::int64_t(nodes_.size_of(a)) * nodes_.size_of(b) * block_;
    }
    std::int64_t length(std::int32_t a, std::int32_t b) const {
        return alltoall::piece_length(stream(a, b), nodes_.count(), call_.second, fragment_);
    }
    std::int64_t piece(std::int32_t a, std::int32_t b, std::int64_t fragment) const {
        return fragment_bytes(stream(a, b), fragment, length(a, b));
    }

    void go_on(std::int32_t rank, std::vector<Stage> const &stages, std::size_t i, Acts &acts) const {
        if (i < stages.size())
            acts.push_back({Does::charge, -1, copied(rank, stages[i], true)});
        if (i >= 2)
            acts.push_back({Does::received, -1, double(i - 2)});
        meet(acts, nodes_, nodes_.node_of(rank));
        if (i < stages.size())
            start(rank, stages[i], double(i), acts);
        if (i >= 2)
            acts.push_back({Does::charge, -1, copied(rank, stages[i - 2], false)});
        if (i == stages.size() + 1)
            acts.push_back({Does::all});
    }

    // A rank's own blocks for another node are one after the other; those from it are apart.
    double copied(std::int32_t rank, Stage const &stage, bool in) const {
        auto const home = nodes_.node_of(rank), local = nodes_.local_of(rank), mates = nodes_.size_of(home);
        auto sum = 0.0;
        for (auto const *items : {&stage.messages, &stage.own})
            for (auto const &item : *items) {
                auto const other = in ? item.to : item.from;
                auto const low = item.fragment * length(home, other);
                auto const high = low + piece(home, other, item.fragment);
                for (std::int64_t k = 0; k < nodes_.size_of(other); ++k) {
                    auto const nth = in ? std::int64_t(local) * nodes_.size_of(other) + k : k * mates + local;
                    sum += part_of(nth * block_, block_, low, high);
                }
            }
        return sum;
    }

    void start(std::int32_t rank, Stage const &stage, double number, Acts &acts) const {
        auto const home = nodes_.node_of(rank);
        auto const is_mine = [&](std::int32_t node) {
            return alltoall::owner_of(nodes_, home, node, call_.parameter) == nodes_.local_of(rank);
        };
        auto const peer = [&](std::int32_t node) {
            return nodes_.members(node)[std::size_t(alltoall::owner_of(nodes_, node, home, call_.parameter))];
        };
        for (auto const &item : stage.messages) {
            if (piece(home, item.from, item.fragment) > 0 && is_mine(item.from))
                acts.push_back({Does::receive, peer(item.from), number});
            if (auto const bytes = piece(home, item.to, item.fragment); bytes > 0 && is_mine(item.to))
                acts.push_back({Does::send, peer(item.to), double(bytes)});
        }
    }

    std::vector<std::vector<Stage>> const &batches(std::int32_t home) const {
        auto const [found, is_new] = batches_.try_emplace(home);
        if (is_new) {
            ItemSizes sizes;
            for (auto node = 0; node < nodes_.count(); ++node) {
                auto &out = sizes.out.emplace_back(), &in = sizes.in.emplace_back();
                for (std::int64_t f = 0; piece(home, node, f) > 0; ++f)
                    in.push_back(piece(home, node, f));
                if (node != home)
                    out = in;
            }
            for (auto const &batch : alltoall::batches(nodes_, home, sizes, staging_))
                found->second.push_back(alltoall::stages_of(batch, home, sizes, call_.second));
        }
        return found->second;
    }

    std::map<std::int32_t, std::vector<std::vector<Stage>>> mutable batches_;
};

// Bruck's exchange over nodes of as many ranks each, every one of which forwards its share.
class NodeBruck : public NodeAware {
  public:
    NodeBruck(Nodes const &nodes, Call const &call, std::int64_t slice)
        : NodeAware(nodes, call), circle_(nodes.count(), call.parameter, true), slice_(slice) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const home = nodes_.node_of(rank), local = nodes_.local_of(rank), mates = nodes_.size_of(home);
        if (s == 0) {
            begin(acts, rank);
            return true;
        }
        auto const each = circle_.count() + 2, part = (s - 1) % each;
        auto const bytes = double(fragment_bytes(block_, (s - 1) / each, slice_));
        if (bytes == 0)
            return false;
        if (part == 0) {
            acts.push_back({Does::charge, -1, nodes_.ranks() * in_lines(bytes)});
            meet(acts, nodes_, home);
        } else if (part < each - 1) {
            circle_.round(acts, part - 1, home, mates * bytes,
                          [&](std::int32_t node) { return nodes_.members(node)[std::size_t(local)]; });
        } else {
            acts.push_back({Does::charge, -1, nodes_.count() * in_lines(mates * bytes)});
            meet(acts, nodes_, home);
            acts.push_back({Does::charge, -1, nodes_.ranks() * in_lines(bytes)});
        }
        return true;
    }

  private:
    Circle circle_;
    std::int64_t slice_;
};

} // namespace

std::unique_ptr<Schedule> node_schedule_of(Call const &call, Nodes const &nodes) {
    if (Algorithm(call.algorithm) == Algorithm::node_direct)
        return std::make_unique<Direct>(nodes, call);
    if (Algorithm(call.algorithm) == Algorithm::node_multi)
        return std::make_unique<Multi>(nodes, call);
    auto const block = std::int64_t(call.bytes), blocks = std::int64_t(nodes.largest()) * nodes.ranks();
    return std::make_unique<NodeBruck>(nodes, call, std::min(block, staging_of(nodes, block) / blocks));
}

} // namespace weft::rounds
