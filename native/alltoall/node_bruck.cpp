// SPDX-License-Identifier: BSD-3-Clause
// node.bruck{r}: Bruck's exchange over the nodes. Some of their ranks (as many as the smallest node has) each forward a
// share of the blocks, which are gathered and scattered in shared memory of the node.
//
// Messages per node: about P (r - 1) log_r(N). Best for blocks of a few bytes on very many nodes; slower as soon as
// bandwidth matters, since bytes are sent log_r(N) times. Forwarded blocks carry their sizes. Memory: 2 P p times a
// slice of the blocks; all nodes process the slices together, as many as the largest block needs.
#include "algorithms.hpp"
#include "bruck_exchange.hpp"
#include "lanes.hpp"
#include "platform.hpp"
#include "staging.hpp"
#include "transfer.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

constexpr std::int64_t most_passes = 256; // larger blocks, or more uneven sizes, are not suited to Bruck

class NodeBruck {
  public:
    NodeBruck(Spec const &spec, Exchange const &exchange, State &state)
        : exchange_(exchange), state_(state), nodes_(state.nodes()), lanes_(nodes_.smallest()),
          team_{state.comm(), tag_node_bruck, {}, state.home(), spec.radix} {
        for (int node = 0; node < nodes_.count() && state.local() < lanes_; ++node) {
            team_.ranks.push_back(nodes_.members(node)[std::size_t(state.local())]);
        }
    }

    void run(std::int64_t largest, std::int64_t slice) {
        NodeCounts const counts = publish(exchange_, state_);
        for (std::int64_t first = 0; first < largest; first += slice) {
            Slice const part{first, slice};
            layout_ = lane_layout(nodes_, state_.rank(), counts, lanes_, part);
            copy_in(part);
            state_.barrier().wait(); // outgoing data are complete; all have read the counts and the previous data
            if (state_.local() < lanes_) {
                forward();
            }
            state_.barrier().wait(); // incoming data are complete
            copy_out(part);
        }
        if (largest == 0) {
            state_.barrier().wait(); // all have read the counts
        }
    }

  private:
    void copy_in(Slice part) {
        for (int rank = 0; rank < nodes_.ranks(); ++rank) {
            exchange_.send.pack(rank, part.first, part.of(exchange_.send.bytes(rank)),
                                state_.staging_out() + layout_.out_at[std::size_t(rank)], state_.comm());
        }
    }

    void forward() {
        int const count = nodes_.count();
        std::vector<Held> held;
        for (int j = 0; j < count; ++j) {
            Region const region = layout_.out[std::size_t((state_.home() + j) % count)];
            held.push_back({state_.staging_out() + region.at, region.bytes});
        }
        Kept kept;
        bruck_exchange(team_, held, false, kept);
        for (int j = 0; j < count; ++j) {
            int const from = (state_.home() - j + count) % count;
            Region const region = layout_.in[std::size_t(from)];
            if (region.bytes != held[std::size_t(j)].bytes) {
                throw Error(MPI_ERR_TRUNCATE, "weft: node " + std::to_string(from) + " sent " +
                                                  std::to_string(held[std::size_t(j)].bytes) + " bytes where " +
                                                  std::to_string(region.bytes) +
                                                  " are expected -> make the counts match");
            }
            if (region.bytes > 0) {
                platform::copy(state_.staging_in() + region.at, held[std::size_t(j)].data, std::size_t(region.bytes));
            }
        }
    }

    void copy_out(Slice part) {
        for (int rank = 0; rank < nodes_.ranks(); ++rank) {
            exchange_.receive.unpack(rank, part.first, part.of(exchange_.receive.bytes(rank)),
                                     state_.staging_in() + layout_.in_at[std::size_t(rank)], state_.comm());
        }
    }

    Exchange const &exchange_;
    State &state_;
    Nodes const &nodes_;
    int lanes_;
    BruckTeam team_;
    LaneLayout layout_;
};

} // namespace

Kind node_bruck(Spec const &spec, Exchange const &exchange, State &state) {
    if (state.nodes().count() == 1 || !stage(exchange, state)) {
        return Kind::pmpi;
    }
    std::int64_t const largest = largest_block(exchange, state.comm());
    std::int64_t const blocks = std::int64_t(state.nodes().largest()) * state.nodes().ranks();
    std::int64_t const slice = std::min(largest, state.staging_bytes() / blocks);
    if (largest > 0 && (slice == 0 || largest / slice > most_passes)) {
        Spec multi = spec;
        multi.kind = Kind::node_multi;
        return node_multi(multi, exchange, state);
    }
    guarded(state, [&] { NodeBruck(spec, exchange, state).run(largest, slice); });
    return Kind::node_bruck;
}

} // namespace weft::alltoall
