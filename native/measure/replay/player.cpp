// SPDX-License-Identifier: BSD-3-Clause
#include "replay/player.hpp"

#include "common/check.hpp"
#include "replay/counted.hpp"

#include <cmath>
#include <utility>

namespace weft {

namespace {

constexpr std::int64_t worth_sleeping_ns = 2'000'000;
constexpr std::int64_t awake_before_ns = 500'000; // what an idle core takes to wake up, many times over

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
    auto const rounded = std::size_t(8 * team_.size); // large parts of equal size are whole doubles, see Counted
    send_ = Buffer::make(team_, std::size_t(script_.send_bytes) + rounded, "messages sent");
    receive_ = Buffer::make(team_, std::size_t(script_.receive_bytes) + rounded, "messages received");
    for (std::vector<int> *const each : {&counts_[0], &counts_[1], &places_[0], &places_[1]}) {
        each->reserve(std::size_t(team_.size)); // nothing is allocated between two clock reads
    }
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
    // Traced times have in them what a busy core held up. Ranks that share cores would hold each other up once more.
    if (scaled > worth_sleeping_ns) {
        platform::sleep_ns(scaled - awake_before_ns);
    }
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
    auto const parts = std::span(script_.counts).subspan(std::size_t(action.value));
    bool const both_ways = action.act == Act::alltoallv;
    int const unit = unit_of(parts.first(std::size_t(both_ways ? 2 * size : size)), action);
    MPI_Datatype const type = type_of(unit);
    set_parts(parts.first(std::size_t(size)), unit, counts_[0], places_[0]);
    int const *const counts = counts_[0].data();
    int const *const places = places_[0].data();
    int const out = int(action.bytes / unit);
    int const in = int(action.received / unit);
    auto *const from = send_.data();
    auto *const into = receive_.data();
    switch (action.act) {
    case Act::gather:
        return check(MPI_Gatherv(from, out, type, into, counts, places, type, action.peer, comm), "MPI_Gatherv");
    case Act::scatter:
        return check(MPI_Scatterv(from, counts, places, type, into, in, type, action.peer, comm), "MPI_Scatterv");
    case Act::allgather:
        return check(MPI_Allgatherv(from, out, type, into, counts, places, type, comm), "MPI_Allgatherv");
    case Act::alltoallv:
        set_parts(parts.subspan(std::size_t(size), std::size_t(size)), unit, counts_[1], places_[1]);
        return algorithm_.alltoallv(from, counts, places, type, into, counts_[1].data(), places_[1].data(), type, comm);
    default:
        return check(MPI_Reduce_scatter(from, into, counts, type, MPI_BOR, comm), "MPI_Reduce_scatter");
    }
}

} // namespace weft
