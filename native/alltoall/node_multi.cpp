// SPDX-License-Identifier: BSD-3-Clause
// node.multi{nl}: one message for each pair of nodes, gathered and scattered in shared memory of the node.
//
// After Kumar, Mamidala and Panda, "Scaling alltoall collective on multi-core systems", IPDPS 2008: nl = 1 is their
// single leader, nl = P their scheme for adapters that need many cores. nl of a node's ranks exchange messages, each
// for 1/nl of the other nodes; the pair {A, B} belongs to rank (A + B) mod nl on both, so it needs one connection. Per
// node: N - 1 messages; 2 copies; 3 barriers per batch; memory 2 P p m, in batches if that exceeds the limit. Best for
// small blocks, whose messages cost more than copies. Slow for large ones.
#include "algorithms.hpp"
#include "staging.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <optional>

namespace weft::alltoall {

namespace {

class Multi {
  public:
    Multi(Spec const &spec, Exchange const &exchange, State &state)
        : leaders_(spec.leaders), exchange_(exchange), send_(&exchange.send), state_(state), nodes_(state.nodes()) {}

    void run() {
        streams_ = node_streams(nodes_, state_.rank(), publish(exchange_, state_));
        length_ = fragment_length(state_);
        auto const all = batches(nodes_, state_.home(), sizes(), state_.staging_bytes());
        if (exchange_.in_place && all.size() > 1) {
            copy_.emplace(exchange_.send, state_.comm());
            send_ = &copy_->side();
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i > 0) {
                state_.barrier().wait(); // all have read the data of the batch before
            }
            run_batch(all[i]);
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

    std::vector<std::int64_t> cut(std::vector<std::int64_t> const &bytes, int node) const {
        std::vector<std::int64_t> made;
        for (std::int64_t left = bytes[std::size_t(node)]; left > 0; left -= length_) {
            made.push_back(std::min(left, length_));
        }
        return made;
    }

    std::int64_t piece(std::vector<std::int64_t> const &bytes, int node, Item const &item) const {
        return fragment_bytes(bytes[std::size_t(node)], item.fragment, length_);
    }

    void run_batch(std::vector<Item> const &batch) {
        for (Item const &item : batch) {
            copy_in(item);
        }
        state_.barrier().wait(); // outgoing data are complete
        exchange_messages(batch);
        state_.barrier().wait(); // incoming data are complete
        for (Item const &item : batch) {
            copy_out(item);
        }
    }

    void copy_in(Item const &item) {
        std::byte *const to =
            item.to == state_.home() ? state_.staging_in() + item.in_at : state_.staging_out() + item.out_at;
        std::int64_t const low = item.fragment * length_;
        std::int64_t const high = low + piece(streams_.out_bytes, item.to, item);
        for (int const rank : nodes_.members(item.to)) {
            move_overlap(
                streams_.out_at[std::size_t(rank)], send_->bytes(rank), low, high,
                [&](auto first, auto bytes, auto at) { send_->pack(rank, first, bytes, to + at, state_.comm()); });
        }
    }

    void copy_out(Item const &item) {
        std::int64_t const low = item.fragment * length_;
        std::int64_t const high = low + piece(streams_.in_bytes, item.from, item);
        for (int const rank : nodes_.members(item.from)) {
            move_overlap(streams_.in_at[std::size_t(rank)], exchange_.receive.bytes(rank), low, high,
                         [&](auto first, auto bytes, auto at) {
                             exchange_.receive.unpack(rank, first, bytes, state_.staging_in() + item.in_at + at,
                                                      state_.comm());
                         });
        }
    }

    void exchange_messages(std::vector<Item> const &batch) {
        int const home = state_.home();
        int const leaders = std::min(leaders_, nodes_.size_of(home));
        SlidingWindow window(
            state_.comm(), tag_multi,
            int(std::min<std::int64_t>(state_.limits().requests_per_node / leaders, 2 * nodes_.count())), INT64_MAX);
        auto const peer = [&](int node) {
            return nodes_.members(node)[std::size_t(owner_of(nodes_, node, home, leaders_))];
        };
        for (Item const &item : batch) {
            std::int64_t const in = piece(streams_.in_bytes, item.from, item);
            std::int64_t const out = piece(streams_.out_bytes, item.to, item);
            if (item.from != home && in > 0 && owner_of(nodes_, home, item.from, leaders_) == state_.local()) {
                window.receive(bytes_at(state_.staging_in() + item.in_at, in), peer(item.from));
            }
            if (item.to != home && out > 0 && owner_of(nodes_, home, item.to, leaders_) == state_.local()) {
                window.send(bytes_at(state_.staging_out() + item.out_at, out), peer(item.to));
            }
        }
        window.drain();
    }

    int leaders_;
    Exchange const &exchange_;
    Side const *send_;
    State &state_;
    Nodes const &nodes_;
    NodeStreams streams_;
    std::int64_t length_ = 1;
    std::optional<PackedCopy> copy_;
};

} // namespace

bool node_multi(Spec const &spec, Exchange const &exchange, State &state) {
    return run_staged<Multi>(spec, exchange, state);
}

} // namespace weft::alltoall
