// SPDX-License-Identifier: BSD-3-Clause
// node.direct{w}: each rank sends one message to each other node, directly from the user's buffer, to the rank with its
// own index there. That rank receives it into shared memory of its node, from which each rank copies its own data.
//
// Per node: P (N - 1) messages, w of them in flight; 1 copy; 2 barriers per batch; memory P p m, in batches if that
// exceeds the limit. Best for medium blocks. Slower than node.multi if the cost of messages dominates, and than
// flat.window if that of copies does.
#include "algorithms.hpp"
#include "common/comm.hpp"
#include "staging.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <optional>

namespace weft::alltoall {

namespace {

class Direct {
  public:
    Direct(Spec const &spec, Exchange const &exchange, State &state)
        : exchange_(exchange), send_(&exchange.send), state_(state), nodes_(state.nodes()) {
        std::int64_t const most = std::min<std::int64_t>(spec.window, state.limits().requests_per_node);
        // in one step a rank may receive from several ranks of a larger node: all these and its own message must fit
        int const heard = nodes_.largest() / nodes_.smallest() + 2;
        window_ = std::max(heard, int(std::min<std::int64_t>(most / nodes_.size_of(state.home()), INT_MAX)));
    }

    void run() {
        streams_ = rank_streams(nodes_, state_.rank(), publish(exchange_, state_));
        length_ = std::max<std::int64_t>(1, fragment_length(state_) / nodes_.largest());
        auto const all = batches(nodes_, state_.home(), sizes(), state_.staging_bytes());
        if (exchange_.in_place && all.size() > 1) {
            copy_.emplace(exchange_.send, state_.comm());
            send_ = &copy_->side();
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i > 0) {
                state_.barrier().wait(); // all have read the data of the batch before
            }
            exchange_messages(all[i]);
            state_.barrier().wait(); // incoming data are complete
            for (Item const &item : all[i]) {
                copy_out(item);
            }
        }
        if (all.empty()) {
            state_.barrier().wait(); // all have read the counts
        }
    }

  private:
    std::int64_t out_piece(int mate, int node, std::int64_t fragment) const {
        std::size_t const at = std::size_t(mate) * std::size_t(nodes_.count()) + std::size_t(node);
        return fragment_bytes(streams_.out_bytes[at], fragment, length_);
    }

    std::int64_t in_piece(int rank, std::int64_t fragment) const {
        return fragment_bytes(streams_.in_bytes[std::size_t(rank)], fragment, length_);
    }

    /// What all ranks of this node send and receive; all of them must compute the same batches.
    ItemSizes sizes() const {
        ItemSizes made;
        for (int node = 0; node < nodes_.count(); ++node) {
            made.out.push_back(summed([&](std::int64_t fragment) {
                std::int64_t sum = 0;
                for (int mate = 0; mate < nodes_.size_of(state_.home()) && node != state_.home(); ++mate) {
                    sum += out_piece(mate, node, fragment);
                }
                return sum;
            }));
            made.in.push_back(summed([&](std::int64_t fragment) {
                std::int64_t sum = 0;
                for (int const rank : nodes_.members(node)) {
                    sum += in_piece(rank, fragment);
                }
                return sum;
            }));
        }
        return made;
    }

    template <typename Sum> static std::vector<std::int64_t> summed(Sum sum) {
        std::vector<std::int64_t> made;
        for (std::int64_t bytes = sum(0); bytes > 0; bytes = sum(std::int64_t(made.size()))) {
            made.push_back(bytes);
        }
        return made;
    }

    /// Calls `act(rank, bytes, place in the staging)` for the pieces of an item that come from each rank of a node.
    template <typename Act> void for_each_piece(Item const &item, Act act) {
        std::int64_t at = item.in_at;
        for (int const rank : nodes_.members(item.from)) {
            std::int64_t const bytes = in_piece(rank, item.fragment);
            if (bytes > 0) {
                act(rank, bytes, state_.staging_in() + at);
            }
            at += bytes;
        }
    }

    void exchange_messages(std::vector<Item> const &batch) {
        SlidingWindow window(state_.comm(), tag_direct, window_, INT64_MAX);
        std::map<int, std::vector<std::byte>> packed; // [slot]
        int const mates = nodes_.size_of(state_.home());
        for (Item const &item : batch) {
            for_each_piece(item, [&](int rank, std::int64_t bytes, std::byte *at) {
                if (rank == state_.rank()) {
                    pack_piece(item, bytes, at);
                } else if (item.from != state_.home() && nodes_.local_of(rank) % mates == state_.local()) {
                    window.receive(bytes_at(at, bytes), rank);
                }
            });
            std::int64_t const out = out_piece(state_.local(), item.to, item.fragment);
            if (item.to != state_.home() && out > 0) {
                send_piece(window, item, out, packed);
            }
        }
        window.drain();
    }

    template <typename Move> void for_each_overlap(Item const &item, std::int64_t bytes, Move move) {
        std::int64_t const low = item.fragment * length_;
        for (int const rank : nodes_.members(item.to)) {
            move_overlap(streams_.out_at[std::size_t(rank)], send_->bytes(rank), low, low + bytes,
                         [&](auto first, auto some, auto at) { move(rank, first, some, at); });
        }
    }

    void pack_piece(Item const &item, std::int64_t bytes, std::byte *to) {
        for_each_overlap(item, bytes, [&](int rank, auto first, auto some, auto at) {
            send_->pack(rank, first, some, to + at, state_.comm());
        });
    }

    /// Sends from the user's buffer if the data are contiguous there, else packs them first.
    void send_piece(SlidingWindow &window, Item const &item, std::int64_t bytes,
                    std::map<int, std::vector<std::byte>> &packed) {
        int const peer = nodes_.members(item.to)[std::size_t(state_.local() % nodes_.size_of(item.to))];
        if (!send_->layout().dense) {
            std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
            pack_piece(item, bytes, copy.data());
            window.send(bytes_at(copy.data(), bytes), peer);
            packed[window.last_slot()] = std::move(copy);
            return;
        }
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        for_each_overlap(item, bytes, [&](int rank, auto first, auto some, auto) {
            MPI_Aint place = 0;
            PMPI_Get_address(send_->address(rank) + first, &place);
            if (!places.empty() && places.back() + lengths.back() == place) {
                lengths.back() += int(some);
            } else {
                places.push_back(place);
                lengths.push_back(int(some));
            }
        });
        if (places.size() == 1) { // with ranks in blocks: no library copies that
            window.send(bytes_at(reinterpret_cast<void *>(places.front()), bytes), peer);
            return;
        }
        Datatype const parts = Datatype::at(lengths, places, MPI_BYTE);
        window.send({MPI_BOTTOM, 1, parts, bytes}, peer);
    }

    void copy_out(Item const &item) {
        std::int64_t const low = item.fragment * length_;
        for_each_piece(item, [&](int rank, std::int64_t bytes, std::byte *from) {
            move_overlap(streams_.in_at[std::size_t(rank)], exchange_.receive.bytes(rank), low, low + bytes,
                         [&](auto first, auto some, auto at) {
                             exchange_.receive.unpack(rank, first, some, from + at, state_.comm());
                         });
        });
    }

    Exchange const &exchange_;
    Side const *send_;
    State &state_;
    Nodes const &nodes_;
    int window_;
    RankStreams streams_;
    std::int64_t length_ = 1;
    std::optional<PackedCopy> copy_;
};

} // namespace

Kind node_direct(Spec const &spec, Exchange const &exchange, State &state) {
    return run_staged<Direct>(spec, exchange, state) ? Kind::node_direct : Kind::pmpi;
}

} // namespace weft::alltoall
