// SPDX-License-Identifier: BSD-3-Clause
#include "collective/mock_ups.hpp"

#include "mpi/error.hpp"

#include <array>
#include <cstring>
#include <string>

namespace weft {

namespace {

std::size_t bytes_of(CallArguments const &a, int many) {
    return std::size_t(many) * (a.type == MPI_DOUBLE ? sizeof(double) : 1);
}

int all_blocks(CallArguments const &a) {
    return a.room->ranks * a.count;
}

std::byte *block(CallArguments const &a, std::byte *of, int rank) {
    return of + std::size_t(rank) * bytes_of(a, a.count);
}

/// A message in as many equal shares as there are ranks: where it is no multiple of them, in the scratch buffer, which
/// is longer.
struct Shares {
    explicit Shares(CallArguments const &a)
        : count((a.count + a.room->ranks - 1) / a.room->ranks), padded(count * a.room->ranks != a.count) {}

    /// The message as shares: itself, or a copy in the scratch buffer, padded with zeros.
    std::byte *spread(CallArguments const &a, std::byte *message) const {
        if (!padded) {
            return message;
        }
        std::size_t const held = bytes_of(a, a.count);
        std::memcpy(a.room->scratch, message, held);
        std::memset(a.room->scratch + held, 0, bytes_of(a, count * a.room->ranks) - held);
        return a.room->scratch;
    }
    /// Where to receive all shares of what goes into `message`, and the copy from there.
    std::byte *joined(CallArguments const &a, std::byte *message) const { return padded ? a.room->scratch : message; }
    void join(CallArguments const &a, std::byte *message) const {
        if (padded) {
            std::memcpy(message, a.room->scratch, bytes_of(a, a.count));
        }
    }
    /// One share of this rank, behind all of them.
    std::byte *own(CallArguments const &a) const { return a.room->scratch + bytes_of(a, count * a.room->ranks); }

    int count;
    bool padded;
};

void bcast_by_scatter_allgather(CallArguments const &a) {
    Shares const shares(a);
    std::byte *const message = a.is_root() ? a.send : a.receive;
    std::byte *const whole = a.is_root() ? shares.spread(a, message) : shares.joined(a, message);
    std::byte *const mine = whole + std::size_t(a.rank) * bytes_of(a, shares.count);
    check(MPI_Scatter(whole, shares.count, a.type, a.is_root() ? MPI_IN_PLACE : mine, shares.count, a.type, a.root,
                      a.comm),
          "MPI_Scatter");
    check(MPI_Allgather(MPI_IN_PLACE, 0, a.type, whole, shares.count, a.type, a.comm), "MPI_Allgather");
    if (!a.is_root()) {
        shares.join(a, message);
    }
}

void bcast_by_allgatherv(CallArguments const &a) {
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, a.type, a.is_root() ? a.send : a.receive, a.room->of_root.data(),
                         a.room->zeros.data(), a.type, a.comm),
          "MPI_Allgatherv");
}

void alltoall_by_alltoallv(CallArguments const &a) {
    check(MPI_Alltoallv(a.send, a.send_counts.data(), a.send_places.data(), a.type, a.receive, a.receive_counts.data(),
                        a.receive_places.data(), a.type, a.comm),
          "MPI_Alltoallv");
}

/// Of equal blocks, which the caller knows.
void alltoallv_by_alltoall(CallArguments const &a) {
    check(MPI_Alltoall(a.send, a.count, a.type, a.receive, a.count, a.type, a.comm), "MPI_Alltoall");
}

/// Places are in bytes, as elements of an all-to-all are.
void alltoallv_by_alltoallw(CallArguments const &a) {
    check(MPI_Alltoallw(a.send, a.send_counts.data(), a.send_places.data(), a.room->types.data(), a.receive,
                        a.receive_counts.data(), a.receive_places.data(), a.room->types.data(), a.comm),
          "MPI_Alltoallw");
}

void scatter_by_scatterv(CallArguments const &a) {
    check(MPI_Scatterv(a.send, a.send_counts.data(), a.send_places.data(), a.type, a.receive, a.count, a.type, a.root,
                       a.comm),
          "MPI_Scatterv");
}

void scatter_by_bcast(CallArguments const &a) {
    std::byte *const all = a.is_root() ? a.send : a.room->scratch;
    check(MPI_Bcast(all, all_blocks(a), a.type, a.root, a.comm), "MPI_Bcast");
    std::memcpy(a.receive, block(a, all, a.rank), bytes_of(a, a.count));
}

void gather_by_gatherv(CallArguments const &a) {
    check(MPI_Gatherv(a.send, a.count, a.type, a.receive, a.receive_counts.data(), a.receive_places.data(), a.type,
                      a.root, a.comm),
          "MPI_Gatherv");
}

void gather_by_allgather(CallArguments const &a) {
    check(MPI_Allgather(a.send, a.count, a.type, a.is_root() ? a.receive : a.room->scratch, a.count, a.type, a.comm),
          "MPI_Allgather");
}

/// A rank's block among zeros: the bitwise or over all ranks has every block.
void among_zeros(CallArguments const &a, std::byte *all) {
    std::memset(all, 0, bytes_of(a, all_blocks(a)));
    std::memcpy(block(a, all, a.rank), a.send, bytes_of(a, a.count));
}

void gather_by_reduce(CallArguments const &a) {
    among_zeros(a, a.room->scratch);
    check(MPI_Reduce(a.room->scratch, a.receive, all_blocks(a), MPI_BYTE, MPI_BOR, a.root, a.comm), "MPI_Reduce");
}

void allgather_by_gather_bcast(CallArguments const &a) {
    check(MPI_Gather(a.send, a.count, a.type, a.receive, a.count, a.type, 0, a.comm), "MPI_Gather");
    check(MPI_Bcast(a.receive, all_blocks(a), a.type, 0, a.comm), "MPI_Bcast");
}

void allgather_by_alltoall(CallArguments const &a) {
    for (int rank = 0; rank < a.room->ranks; ++rank) {
        std::memcpy(block(a, a.room->scratch, rank), a.send, bytes_of(a, a.count));
    }
    check(MPI_Alltoall(a.room->scratch, a.count, a.type, a.receive, a.count, a.type, a.comm), "MPI_Alltoall");
}

void allgather_by_allreduce(CallArguments const &a) {
    among_zeros(a, a.receive);
    check(MPI_Allreduce(MPI_IN_PLACE, a.receive, all_blocks(a), MPI_BYTE, MPI_BOR, a.comm), "MPI_Allreduce");
}

void allgather_by_allgatherv(CallArguments const &a) {
    check(MPI_Allgatherv(a.send, a.count, a.type, a.receive, a.receive_counts.data(), a.receive_places.data(), a.type,
                         a.comm),
          "MPI_Allgatherv");
}

void allreduce_by_reduce_bcast(CallArguments const &a) {
    check(MPI_Reduce(a.send, a.receive, a.count, a.type, MPI_SUM, 0, a.comm), "MPI_Reduce");
    check(MPI_Bcast(a.receive, a.count, a.type, 0, a.comm), "MPI_Bcast");
}

/// Leaves this rank's share of the sum in `Shares::own`.
Shares reduce_shares(CallArguments const &a) {
    Shares const shares(a);
    check(MPI_Reduce_scatter_block(shares.spread(a, a.send), shares.own(a), shares.count, a.type, MPI_SUM, a.comm),
          "MPI_Reduce_scatter_block");
    return shares;
}

void allreduce_by_reduce_scatter_allgather(CallArguments const &a) {
    Shares const shares = reduce_shares(a);
    check(MPI_Allgather(shares.own(a), shares.count, a.type, shares.joined(a, a.receive), shares.count, a.type, a.comm),
          "MPI_Allgather");
    shares.join(a, a.receive);
}

void reduce_by_allreduce(CallArguments const &a) {
    check(MPI_Allreduce(a.send, a.is_root() ? a.receive : a.room->scratch, a.count, a.type, MPI_SUM, a.comm),
          "MPI_Allreduce");
}

void reduce_by_reduce_scatter_gather(CallArguments const &a) {
    Shares const shares = reduce_shares(a);
    check(MPI_Gather(shares.own(a), shares.count, a.type, shares.joined(a, a.receive), shares.count, a.type, a.root,
                     a.comm),
          "MPI_Gather");
    if (a.is_root()) {
        shares.join(a, a.receive);
    }
}

void reduce_scatter_by_reduce_then_scatter(CallArguments const &a) {
    check(MPI_Reduce(a.send, a.room->scratch, all_blocks(a), a.type, MPI_SUM, 0, a.comm), "MPI_Reduce");
    check(MPI_Scatter(a.room->scratch, a.count, a.type, a.receive, a.count, a.type, 0, a.comm), "MPI_Scatter");
}

void reduce_scatter_by_allreduce(CallArguments const &a) {
    check(MPI_Allreduce(a.send, a.room->scratch, all_blocks(a), a.type, MPI_SUM, a.comm), "MPI_Allreduce");
    std::memcpy(a.receive, block(a, a.room->scratch, a.rank), bytes_of(a, a.count));
}

} // namespace

std::span<MockUp const> mock_ups() {
    static constexpr std::array<MockUp, 20> table{{
        {"bcast", "scatter+allgather", bcast_by_scatter_allgather},
        {"bcast", "allgatherv", bcast_by_allgatherv},
        {"alltoall", "alltoallv", alltoall_by_alltoallv},
        {"alltoallv", "alltoall", alltoallv_by_alltoall},
        {"alltoallv", "alltoallw", alltoallv_by_alltoallw},
        {"scatter", "scatterv", scatter_by_scatterv},
        {"scatter", "bcast", scatter_by_bcast},
        {"gather", "gatherv", gather_by_gatherv},
        {"gather", "allgather", gather_by_allgather},
        {"gather", "reduce", gather_by_reduce},
        {"allgather", "gather+bcast", allgather_by_gather_bcast},
        {"allgather", "alltoall", allgather_by_alltoall},
        {"allgather", "allreduce", allgather_by_allreduce},
        {"allgather", "allgatherv", allgather_by_allgatherv},
        {"allreduce", "reduce+bcast", allreduce_by_reduce_bcast},
        {"allreduce", "reduce_scatter+allgather", allreduce_by_reduce_scatter_allgather},
        {"reduce", "allreduce", reduce_by_allreduce},
        {"reduce", "reduce_scatter+gather", reduce_by_reduce_scatter_gather},
        {"reduce_scatter", "reduce+scatter", reduce_scatter_by_reduce_then_scatter},
        {"reduce_scatter", "allreduce", reduce_scatter_by_allreduce},
    }};
    return table;
}

MockUp const &mock_up_named(std::string_view collective, std::string_view name) {
    for (MockUp const &each : mock_ups()) {
        if (each.of == collective && each.name == name) {
            return each;
        }
    }
    throw Failure("unknown mock-up `" + std::string(name) + "` of " + std::string(collective),
                  "plan files are written by `weft plan` and `weft run`; start the study again", true);
}

} // namespace weft
