// SPDX-License-Identifier: BSD-3-Clause
// node.multi{nl}: one message for each pair of nodes, gathered and scattered in shared memory of the node.
//
// After Kumar, Mamidala and Panda, "Scaling alltoall collective on multi-core systems", IPDPS 2008: nl = 1 is their
// single leader, nl = P their scheme for adapters that need many cores. nl of a node's ranks exchange messages, each
// for 1/nl of the other nodes; the pair {A, B} belongs to rank (A + B) mod nl on both, so it needs one connection. Per
// node: N - 1 messages, or about `stages` if that is more; 2 copies; memory 2 P p m, in batches if that exceeds the
// limit. Stages are a pipeline: while the messages of a stage and the next are under way, the ranks copy out the stage
// before and copy in the one after; a barrier a stage. Best for small blocks, whose messages cost more than copies.
#include "algorithms.hpp"
#include "stages.hpp"
#include "staging.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <optional>

namespace weft::alltoall {

namespace {

class Multi {
  public:
    Multi(Spec const &spec, Exchange const &exchange, State &state)
        : leaders_(spec.leaders), stages_(spec.stages), exchange_(exchange), send_(&exchange.send), state_(state),
          nodes_(state.nodes()) {}

    void run() {
        streams_ = node_streams(nodes_, state_.rank(), publish(exchange_, state_));
        ItemSizes const cut = sizes();
        auto const all = batches(nodes_, state_.home(), cut, state_.staging_bytes());
        if (exchange_.in_place && all.size() > 1) {
            copy_.emplace(exchange_.send, state_.comm());
            send_ = &copy_->side();
        }
        // In place all is copied in before anything is copied out, unless there is a copy.
        int const stages = exchange_.in_place && all.size() == 1 ? 1 : stages_;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i > 0) {
                state_.barrier().wait(); // all have read the data of the batch before
            }
            run_batch(stages_of(all[i], state_.home(), cut, stages));
        }
        if (all.empty()) {
            state_.barrier().wait(); // all have read the counts
        }
    }

  private:
    /// Our own node's blocks go through the staging for incoming data: no other rank writes there before the barrier.
    ItemSizes sizes() const {
        ItemSizes made;
        for (int node = 0; node < nodes_.count(); ++node) {
            made.out.push_back(node == state_.home() ? std::vector<std::int64_t>{} : cut(streams_.out_bytes, node));
            made.in.push_back(cut(streams_.in_bytes, node));
        }
        return made;
    }

    std::int64_t length(std::vector<std::int64_t> const &bytes, int node) const {
        return piece_length(bytes[std::size_t(node)], nodes_.count(), stages_, fragment_length(state_));
    }

    std::vector<std::int64_t> cut(std::vector<std::int64_t> const &bytes, int node) const {
        std::vector<std::int64_t> made;
        for (std::int64_t left = bytes[std::size_t(node)]; left > 0; left -= made.back()) {
            made.push_back(std::min(left, length(bytes, node)));
        }
        return made;
    }

    /// The bytes of a stream that an item has: [low, high).
    std::pair<std::int64_t, std::int64_t> piece(std::vector<std::int64_t> const &bytes, int node,
                                                std::int64_t fragment) const {
        std::int64_t const most = length(bytes, node);
        return {fragment * most, fragment * most + fragment_bytes(bytes[std::size_t(node)], fragment, most)};
    }

    /// Two stages are under way at once, so that the adapter has work while ranks meet at a barrier.
    void run_batch(std::vector<Stage> const &stages) {
        std::size_t messages = 0;
        for (Stage const &stage : stages) {
            messages += 2 * stage.messages.size();
        }
        auto const requests = std::min<std::int64_t>(state_.limits().requests_per_node /
                                                         std::min(leaders_, nodes_.size_of(state_.home())),
                                                     std::int64_t(messages));
        SlidingWindow window(state_.comm(), tag_multi, int(requests), INT64_MAX);
        std::vector<std::int64_t> received(stages.size()); // the last message of each stage to be received here
        for (std::size_t i = 0; i < stages.size() + 2; ++i) {
            if (i == 1 && stages.size() == 1) {
                continue;
            }
            if (i < stages.size()) {
                copy_in(stages[i]);
            }
            if (i >= 2) {
                window.wait_through(received[i - 2]);
            }
            state_.barrier().wait(); // stage i is complete in our staging, and stage i - 2 has arrived there
            if (i < stages.size()) {
                received[i] = start(stages[i], window);
            }
            if (i >= 2) {
                copy_out(stages[i - 2]);
            }
        }
        window.drain();
    }

    void copy_in(Stage const &stage) {
        for (auto const *items : {&stage.messages, &stage.own}) {
            for (Item const &item : *items) {
                copy_in(item);
            }
        }
    }

    void copy_out(Stage const &stage) {
        for (auto const *items : {&stage.messages, &stage.own}) {
            for (Item const &item : *items) {
                copy_out(item);
            }
        }
    }

    void copy_in(Item const &item) {
        std::byte *const to =
            item.to == state_.home() ? state_.staging_in() + item.in_at : state_.staging_out() + item.out_at;
        auto const [low, high] = piece(streams_.out_bytes, item.to, item.fragment);
        for (int const rank : nodes_.members(item.to)) {
            move_overlap(
                streams_.out_at[std::size_t(rank)], send_->bytes(rank), low, high,
                [&](auto first, auto bytes, auto at) { send_->pack(rank, first, bytes, to + at, state_.comm()); });
        }
    }

    void copy_out(Item const &item) {
        auto const [low, high] = piece(streams_.in_bytes, item.from, item.fragment);
        for (int const rank : nodes_.members(item.from)) {
            move_overlap(streams_.in_at[std::size_t(rank)], exchange_.receive.bytes(rank), low, high,
                         [&](auto first, auto bytes, auto at) {
                             exchange_.receive.unpack(rank, first, bytes, state_.staging_in() + item.in_at + at,
                                                      state_.comm());
                         });
        }
    }

    int peer(int node) const {
        return nodes_.members(node)[std::size_t(owner_of(nodes_, node, state_.home(), leaders_))];
    }

    bool is_mine(int node) const { return owner_of(nodes_, state_.home(), node, leaders_) == state_.local(); }

    /// Starts this rank's messages of a stage; returns the number of the last one to be received.
    std::int64_t start(Stage const &stage, SlidingWindow &window) {
        std::int64_t received = 0;
        for (Item const &item : stage.messages) {
            auto const [in_low, in_high] = piece(streams_.in_bytes, item.from, item.fragment);
            auto const [out_low, out_high] = piece(streams_.out_bytes, item.to, item.fragment);
            if (in_low < in_high && is_mine(item.from)) {
                received =
                    window.receive(bytes_at(state_.staging_in() + item.in_at, in_high - in_low), peer(item.from));
            }
            if (out_low < out_high && is_mine(item.to)) {
                window.send(bytes_at(state_.staging_out() + item.out_at, out_high - out_low), peer(item.to));
            }
        }
        return received;
    }

    int leaders_;
    int stages_;
    Exchange const &exchange_;
    Side const *send_;
    State &state_;
    Nodes const &nodes_;
    NodeStreams streams_;
    std::optional<PackedCopy> copy_;
};

} // namespace

Kind node_multi(Spec const &spec, Exchange const &exchange, State &state) {
    return run_staged<Multi>(spec, exchange, state) ? Kind::node_multi : Kind::pmpi;
}

} // namespace weft::alltoall
