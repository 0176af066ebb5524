// SPDX-License-Identifier: BSD-3-Clause
// sched.matrix{w}: a message a pair of ranks, in an order made for the very matrix of bytes between nodes: the hottest
// receiver first, no more to it at a time than it can take if senders are uneven, long ones in parts
// (matrix_order.hpp).
//
// Messages per rank: p - 1, or up to five times as many where blocks are cut; up to 256 KiB in messages of 60 KiB. No
// copies, except of what is sent with MPI_IN_PLACE and of cut blocks with gaps. Small blocks that are about even are
// left to node.multi. Of MPI_Alltoallv the nodes gather the matrix: a reduction of N numbers in the node, an allgather
// of N numbers between nodes, a broadcast of N^2 in the node. They do it at the first call and where counts changed,
// which one allreduce of an int tells: at each call until counts repeat, then after 4 calls, and then at every 16th. An
// order of old counts is right for all others, but slower. Best for blocks that are limited by bandwidth, the more
// uneven the better.
#include "algorithms.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <optional>

namespace weft::alltoall {

namespace {

constexpr int most_posted = 64; // receives ahead of their time: a message that comes before its receive is copied
/// Bytes. A longer message waits for an answer, which over TCP stands behind all that its sender has under way: Open
/// MPI asks for one above 64 KiB with its header. The last answers of a call are what hides behind nothing.
constexpr std::int64_t most_message = 61'440;
constexpr std::int64_t most_cut =
    262'144;                            // bytes: of many parts all flows are under way at once, and the order is lost
constexpr int most_matrix_nodes = 1024; // whose matrix and order take 24 MiB a rank
constexpr std::int64_t first_wait = 4, later_wait = 16;

std::vector<std::int64_t> row_of(Exchange const &exchange, Nodes const &nodes) {
    std::vector<std::int64_t> row(std::size_t(nodes.count()), 0);
    for (int rank = 0; rank < nodes.ranks(); ++rank) {
        row[std::size_t(nodes.node_of(rank))] += exchange.send.bytes(rank);
    }
    return row;
}

NodeMatrix gathered(std::vector<std::int64_t> row, State &state) {
    int const nodes = state.nodes().count();
    NodeMatrix made{std::vector<std::int64_t>(std::size_t(nodes) * std::size_t(nodes)), nodes};
    std::vector<std::int64_t> sums(row.size());
    check(PMPI_Reduce(row.data(), sums.data(), nodes, MPI_INT64_T, MPI_SUM, 0, state.node()), "MPI_Reduce of counts");
    if (MPI_Comm const heads = state.heads(); heads != MPI_COMM_NULL) {
        check(PMPI_Allgather(sums.data(), nodes, MPI_INT64_T, made.bytes.data(), nodes, MPI_INT64_T, heads),
              "MPI_Allgather of counts");
    }
    check(PMPI_Bcast(made.bytes.data(), nodes * nodes, MPI_INT64_T, 0, state.node()), "MPI_Bcast of counts");
    return made;
}

/// The order for MPI_Alltoall, which needs no counts of others.
MatrixPlan const &even_order(std::int64_t block_bytes, State &state) {
    Nodes const &nodes = state.nodes();
    if (state.even.parts.empty()) {
        NodeMatrix matrix{{}, nodes.count()};
        for (int from = 0; from < nodes.count(); ++from) {
            for (int to = 0; to < nodes.count(); ++to) {
                matrix.bytes.push_back(std::int64_t(nodes.size_of(from)) * nodes.size_of(to));
            }
        }
        state.even.parts = matrix_order(matrix, state.home());
    }
    state.even.is_small = block_bytes < most_small && nodes.largest() > 1;
    return state.even;
}

MatrixPlan const &agreed_order(Exchange const &exchange, State &state) {
    MatrixPlan &plan = state.uneven;
    if (++plan.calls < plan.due) {
        return plan;
    }
    auto const row = row_of(exchange, state.nodes());
    int changed = row != plan.row;
    if (plan.calls > 1) {
        check(PMPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, state.comm()), "MPI_Allreduce of changes");
    }
    if (changed != 0 || plan.calls == 1) {
        NodeMatrix const matrix = gathered(row, state);
        plan.parts = matrix_order(matrix, state.home());
        plan.is_small = is_small(matrix, state.nodes());
        plan.row = row;
        plan.wait = 1;
    } else {
        plan.wait = plan.wait == 1 ? first_wait : later_wait;
    }
    plan.due = plan.calls + plan.wait;
    return plan;
}

/// Bytes [low, high) of the block for, or from, a rank.
struct Piece {
    int rank;
    std::int64_t low;
    std::int64_t high;
};

/// The messages of parts, in their order; up to `most_cut` none is longer than `most_message`.
std::vector<Piece> pieces_of(std::vector<PartOfBlock> const &parts, Side const &side) {
    std::vector<Piece> made;
    made.reserve(parts.size());
    for (auto const &[rank, part] : parts) {
        std::int64_t const bytes = side.bytes(rank), high = part.scaled(part.high, bytes);
        std::int64_t low = part.scaled(part.low, bytes);
        std::int64_t const count =
            high - low > most_cut ? 1 : std::max<std::int64_t>(1, (high - low + most_message - 1) / most_message);
        std::int64_t const length = (high - low + count - 1) / count;
        for (; low < high; low += length) {
            made.push_back({rank, low, std::min(low + length, high)});
        }
    }
    return made;
}

class ByMatrix {
  public:
    ByMatrix(Spec const &spec, Exchange const &exchange, State &state)
        : exchange_(exchange), send_(&exchange.send), state_(state), nodes_(state.nodes()),
          fair_(std::max<std::int64_t>(2, state.limits().requests_per_node / nodes_.largest())),
          most_sends_(int(std::min<std::int64_t>({spec.window, std::max<std::int64_t>(1, fair_ / 4), nodes_.ranks()}))),
          most_receives_(int(std::min<std::int64_t>(most_posted, fair_ - most_sends_))),
          window_(state.comm(), tag_matrix, most_sends_ + most_receives_, INT64_MAX) {
        if (exchange.in_place) {
            send_ = &copy_.emplace(exchange.send, state.comm()).side();
        }
    }

    /// Sends and receives are each in the order of all nodes, so the first message of all that has not ended is under
    /// way at both its ends.
    void run(std::vector<Part> const &parts) {
        auto const order = messages_of(parts, nodes_, state_.rank());
        auto const sends = pieces_of(order.sends, *send_), receives = pieces_of(order.receives, exchange_.receive);
        std::size_t sent = 0, received = 0;
        bool has_own = false;
        while (sent < sends.size() || received < receives.size() || !has_own) {
            for (; received < receives.size() && window_.receives_under_way() < most_receives_; ++received) {
                receive(receives[received]);
            }
            if (!has_own && sent >= std::min<std::size_t>(2, sends.size())) { // while messages are under way
                copy_own_block(exchange_, state_.rank(), state_.comm());
                has_own = true;
            }
            if (sent < sends.size() && window_.sends_under_way() < most_sends_) {
                send(sends[sent]);
                ++sent;
            } else if (window_.sends_under_way() + window_.receives_under_way() > 0) {
                window_.wait_for_some();
            }
        }
        window_.drain();
        for (Late const &late : late_) {
            exchange_.receive.unpack(late.rank, late.low, std::int64_t(late.bytes.size()), late.bytes.data(),
                                     state_.comm());
        }
    }

  private:
    /// A part of a block with gaps.
    struct Late {
        int rank;
        std::int64_t low;
        std::vector<std::byte> bytes;
    };

    void send(Piece const &piece) {
        auto const [rank, low, high] = piece;
        if (high - low == send_->bytes(rank)) {
            window_.send(block_of(*send_, rank), rank);
        } else if (send_->layout().dense) {
            window_.send(bytes_at(send_->address(rank) + low, high - low), rank);
        } else {
            std::vector<std::byte> copy(std::size_t(high - low));
            send_->pack(rank, low, high - low, copy.data(), state_.comm());
            window_.send(bytes_at(copy.data(), high - low), rank);
            copies_[window_.last_slot()] = std::move(copy); // moving a vector does not move its bytes
        }
    }

    void receive(Piece const &piece) {
        auto const [rank, low, high] = piece;
        Side const &side = exchange_.receive;
        if (high - low == side.bytes(rank)) {
            window_.receive(block_of(side, rank), rank);
        } else if (side.layout().dense) {
            window_.receive(bytes_at(side.address(rank) + low, high - low), rank);
        } else {
            Late &late = late_.emplace_back(Late{rank, low, std::vector<std::byte>(std::size_t(high - low))});
            window_.receive(bytes_at(late.bytes.data(), high - low), rank);
        }
    }

    Exchange const &exchange_;
    Side const *send_;
    std::optional<PackedCopy> copy_;
    State &state_;
    Nodes const &nodes_;
    std::map<int, std::vector<std::byte>> copies_; // [slot]
    std::list<Late> late_;
    std::int64_t fair_; // messages under way of a rank
    int most_sends_, most_receives_;
    SlidingWindow window_; // after what its messages use
};

} // namespace

Kind sched_matrix(Spec const &spec, Exchange const &exchange, State &state) {
    if (state.nodes().count() > most_matrix_nodes) {
        return flat_window(spec, exchange, state);
    }
    MatrixPlan const &plan =
        exchange.uniform() ? even_order(exchange.receive.bytes(0), state) : agreed_order(exchange, state);
    if (plan.is_small && node_multi(Spec{}, exchange, state) == Kind::node_multi) {
        return Kind::node_multi;
    }
    ByMatrix(spec, exchange, state).run(plan.parts);
    return Kind::sched_matrix;
}

} // namespace weft::alltoall
