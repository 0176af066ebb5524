// SPDX-License-Identifier: BSD-3-Clause
#include "replay/player.hpp"

#include "mpi/check.hpp"

#include <climits>
#include <cmath>
#include <utility>

namespace weft {

namespace {

/// Type and count of some bytes: over 2 GiB they are counted in doubles, rounded up.
struct Counted {
    int count;
    MPI_Datatype type;
    explicit Counted(std::int64_t bytes)
        : count(int(bytes <= INT_MAX ? bytes : std::min<std::int64_t>((bytes + 7) / 8, INT_MAX))),
          type(bytes <= INT_MAX ? MPI_BYTE : MPI_DOUBLE) {}
};

/// Operand of a reduction: doubles, or single bytes where the vector does not consist of doubles.
struct Reduced {
    int count;
    MPI_Datatype type;
    MPI_Op op;
    explicit Reduced(std::int64_t bytes)
        : count(int(std::min<std::int64_t>(bytes % 8 == 0 ? bytes / 8 : bytes, INT_MAX))),
          type(bytes % 8 == 0 ? MPI_DOUBLE : MPI_BYTE), op(bytes % 8 == 0 ? MPI_SUM : MPI_BOR) {}
};

void set_counts(std::int64_t const *bytes, int size, std::vector<int> &counts, std::vector<int> &places) {
    counts.resize(std::size_t(size));
    places.resize(std::size_t(size));
    std::int64_t place = 0;
    for (int k = 0; k < size; ++k) {
        counts[std::size_t(k)] = int(std::min<std::int64_t>(bytes[k], INT_MAX));
        places[std::size_t(k)] = int(std::min<std::int64_t>(place, INT_MAX));
        place += counts[std::size_t(k)];
    }
}

} // namespace

Player::Player(Team const &team, Script const &script, double compute, AllToAll algorithm)
    : team_(team), script_(script), compute_(compute), algorithm_(std::move(algorithm)), comms_{team.comm},
      sizes_{team.size}, requests_(std::size_t(script.slots), MPI_REQUEST_NULL) {
    for (Script::Layer const &layer : script.layers) {
        layers_.push_back(Comm::split(team.comm, layer.color < 0 ? MPI_UNDEFINED : layer.color, layer.key));
        comms_.push_back(layers_.back());
        sizes_.push_back(layers_.back().null() ? 0 : layers_.back().size());
    }
}

void Player::allocate() {
    send_ = Buffer::make(team_, std::size_t(script_.send_bytes), "messages sent");
    receive_ = Buffer::make(team_, std::size_t(script_.receive_bytes), "messages received");
}

MPI_Comm Player::comm_of(Action const &action) const {
    return action.comm < 0 ? MPI_COMM_SELF : comms_[std::size_t(action.comm)];
}

void Player::compute(std::int64_t ns) const {
    auto const scaled = std::int64_t(std::llround(double(ns) * compute_));
    if (platform::one_clock()) { // a simulator's: its time passes only while a rank sleeps
        return platform::sleep_ns(scaled);
    }
    std::int64_t const end = platform::now_ns() + scaled;
    while (platform::now_ns() < end) {
    }
}

void Player::play() {
    for (Action const &action : script_.actions) {
        act(action);
    }
}

void Player::act(Action const &action) {
    MPI_Comm const comm = comm_of(action);
    Counted const out(action.bytes);
    Counted const in(action.received);
    std::byte *const into = receive_.data() + action.offset;
    switch (action.act) {
    case Act::compute:
        return compute(action.value);
    case Act::send:
        return check(MPI_Send(send_.data(), out.count, out.type, action.peer, action.tag, comm), "MPI_Send");
    case Act::receive:
        return check(MPI_Recv(into, in.count, in.type, action.peer, action.tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    case Act::isend:
        return check(MPI_Isend(send_.data(), out.count, out.type, action.peer, action.tag, comm, &slot(action)),
                     "MPI_Isend");
    case Act::ireceive:
        return check(MPI_Irecv(into, in.count, in.type, action.peer, action.tag, comm, &slot(action)), "MPI_Irecv");
    case Act::wait:
        return check(MPI_Wait(&slot(action), MPI_STATUS_IGNORE), "MPI_Wait");
    default:
        return collective(action, comm);
    }
}

void Player::collective(Action const &action, MPI_Comm comm) {
    Counted const out(action.bytes);
    Reduced const vector(action.bytes);
    auto *const from = send_.data();
    auto *const into = receive_.data();
    switch (action.act) {
    case Act::barrier:
        return check(MPI_Barrier(comm), "MPI_Barrier");
    case Act::bcast:
        return check(MPI_Bcast(from, out.count, out.type, action.peer, comm), "MPI_Bcast");
    case Act::reduce:
        return check(MPI_Reduce(from, into, vector.count, vector.type, vector.op, action.peer, comm), "MPI_Reduce");
    case Act::allreduce:
        return check(MPI_Allreduce(from, into, vector.count, vector.type, vector.op, comm), "MPI_Allreduce");
    case Act::scan:
        return check(MPI_Scan(from, into, vector.count, vector.type, vector.op, comm), "MPI_Scan");
    case Act::exscan:
        return check(MPI_Exscan(from, into, vector.count, vector.type, vector.op, comm), "MPI_Exscan");
    case Act::alltoall:
        return algorithm_.alltoall(from, out.count, out.type, into, out.count, out.type, comm);
    default:
        return parts(action, comm);
    }
}

/// Calls that give or get a part of each rank.
void Player::parts(Action const &action, MPI_Comm comm) {
    if (action.value >= 0) {
        return listed(action, comm);
    }
    Counted const out(action.bytes);
    Counted const in(action.received);
    auto *const from = send_.data();
    auto *const into = receive_.data();
    switch (action.act) {
    case Act::gather:
        return check(MPI_Gather(from, out.count, out.type, into, in.count, in.type, action.peer, comm), "MPI_Gather");
    case Act::scatter:
        return check(MPI_Scatter(from, out.count, out.type, into, in.count, in.type, action.peer, comm), "MPI_Scatter");
    case Act::allgather:
        return check(MPI_Allgather(from, out.count, out.type, into, in.count, in.type, comm), "MPI_Allgather");
    default:
        Reduced const vector(action.bytes);
        return check(MPI_Reduce_scatter_block(from, into, vector.count, vector.type, vector.op, comm),
                     "MPI_Reduce_scatter_block");
    }
}

/// Calls with a count for each rank.
void Player::listed(Action const &action, MPI_Comm comm) {
    int size = 1;
    check(PMPI_Comm_size(comm, &size), "MPI_Comm_size");
    std::int64_t const *const listed = script_.counts.data() + action.value;
    set_counts(listed, size, counts_[0], places_[0]);
    int const *const counts = counts_[0].data();
    int const *const places = places_[0].data();
    int const out = Counted(action.bytes).count;
    int const in = Counted(action.received).count;
    auto *const from = send_.data();
    auto *const into = receive_.data();
    switch (action.act) {
    case Act::gather:
        return check(MPI_Gatherv(from, out, MPI_BYTE, into, counts, places, MPI_BYTE, action.peer, comm),
                     "MPI_Gatherv");
    case Act::scatter:
        return check(MPI_Scatterv(from, counts, places, MPI_BYTE, into, in, MPI_BYTE, action.peer, comm),
                     "MPI_Scatterv");
    case Act::allgather:
        return check(MPI_Allgatherv(from, out, MPI_BYTE, into, counts, places, MPI_BYTE, comm), "MPI_Allgatherv");
    case Act::alltoallv:
        set_counts(listed + size, size, counts_[1], places_[1]);
        return algorithm_.alltoallv(from, counts, places, MPI_BYTE, into, counts_[1].data(), places_[1].data(),
                                    MPI_BYTE, comm);
    default:
        return check(MPI_Reduce_scatter(from, into, counts, MPI_BYTE, MPI_BOR, comm), "MPI_Reduce_scatter");
    }
}

} // namespace weft
