// SPDX-License-Identifier: BSD-3-Clause
#include "transfer.hpp"

#include "common/comm.hpp"
#include "error.hpp"
#include "hooks.hpp"
#include "platform.hpp"

#include <algorithm>
#include <climits>

namespace weft::alltoall {

namespace {

/// `count` elements as one: for counts beyond an int if MPI has no `_c` calls.
Datatype large_type(std::int64_t count, MPI_Datatype of) {
    constexpr std::int64_t piece = std::int64_t(1) << 30;
    MPI_Count lower = 0, extent = 0;
    check(PMPI_Type_get_extent_x(of, &lower, &extent), "MPI_Type_get_extent_x");
    MPI_Datatype many = MPI_DATATYPE_NULL, all = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    check(PMPI_Type_contiguous(int(piece), of, &many), "MPI_Type_contiguous");
    check(PMPI_Type_contiguous(int(count / piece), many, &all), "MPI_Type_contiguous");
    int lengths[2] = {1, int(count % piece)};
    MPI_Aint places[2] = {0, MPI_Aint(count / piece * piece * extent)};
    MPI_Datatype types[2] = {all, of};
    check(PMPI_Type_create_struct(2, lengths, places, types, &made), "MPI_Type_create_struct");
    PMPI_Type_free(&many);
    PMPI_Type_free(&all);
    return Datatype(made);
}

MPI_Request start_send(Message const &message, int to, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    at_step("send");
    if (message.count <= INT_MAX) {
        check(PMPI_Isend(message.address, int(message.count), message.type, to, tag, comm, &request), "MPI_Isend");
    } else {
        Datatype const all = large_type(message.count, message.type);
        check(PMPI_Isend(message.address, 1, all, to, tag, comm, &request), "MPI_Isend of a large message");
    }
    return request;
}

MPI_Request start_receive(Message const &message, int from, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    at_step("receive");
    if (message.count <= INT_MAX) {
        check(PMPI_Irecv(message.address, int(message.count), message.type, from, tag, comm, &request), "MPI_Irecv");
    } else {
        Datatype const all = large_type(message.count, message.type);
        check(PMPI_Irecv(message.address, 1, all, from, tag, comm, &request), "MPI_Irecv of a large message");
    }
    return request;
}

} // namespace

void check_length(std::int64_t came, std::int64_t expected, int from) {
    if (came == 0 && expected != 0) {
        throw Refused();
    }
    if (came != expected) {
        throw Error(MPI_ERR_TRUNCATE, "weft: rank " + std::to_string(from) + " sent " + std::to_string(came) +
                                          " bytes where this rank expects " + std::to_string(expected) +
                                          " -> make the counts match");
    }
}

SlidingWindow::SlidingWindow(MPI_Comm comm, int tag, int messages, std::int64_t bytes)
    : comm_(comm), tag_(tag), most_bytes_(bytes) {
    std::size_t const slots = std::size_t(std::max(messages, 2));
    requests_.assign(slots, MPI_REQUEST_NULL);
    sends_.assign(slots, 0);
    expected_.assign(slots, -1);
    numbers_.assign(slots, 0);
    ended_.resize(slots);
    statuses_.resize(slots);
}

SlidingWindow::~SlidingWindow() {
    for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
        if (requests_[slot] != MPI_REQUEST_NULL) {
            if (expected_[slot] >= 0) {
                PMPI_Cancel(&requests_[slot]);
            }
            PMPI_Request_free(&requests_[slot]);
        }
    }
}

void SlidingWindow::send(Message const &message, int to) {
    auto const slot = std::size_t(free_slot(message.bytes));
    requests_[slot] = start_send(message, to, tag_, comm_);
    sends_[slot] = message.bytes;
    expected_[slot] = -1;
    send_bytes_ += message.bytes;
    ++under_way_;
    ++sends_under_way_;
}

std::int64_t SlidingWindow::receive(Message const &message, int from) {
    auto const slot = std::size_t(free_slot(0));
    requests_[slot] = start_receive(message, from, tag_, comm_);
    sends_[slot] = 0;
    expected_[slot] = message.bytes;
    numbers_[slot] = ++receives_;
    ++under_way_;
    return receives_;
}

void SlidingWindow::wait_through(std::int64_t receive) {
    auto const is_due = [&](std::size_t slot) {
        return requests_[slot] != MPI_REQUEST_NULL && expected_[slot] >= 0 && numbers_[slot] <= receive;
    };
    for (std::size_t slot = 0; slot < requests_.size(); ++slot) {
        while (is_due(slot)) {
            wait_for_some();
        }
    }
}

int SlidingWindow::free_slot(std::int64_t send_bytes) {
    while (under_way_ == int(requests_.size()) ||
           (send_bytes > 0 && send_bytes_ > 0 && send_bytes_ + send_bytes > most_bytes_)) {
        wait_for_some();
    }
    auto const found = std::find(requests_.begin(), requests_.end(), MPI_REQUEST_NULL);
    last_slot_ = int(found - requests_.begin());
    return last_slot_;
}

void SlidingWindow::drain() {
    while (under_way_ > 0) {
        wait_for_some();
    }
}

void SlidingWindow::wait_for_some() {
    at_step("wait");
    int count = 0;
    int const code = platform::wait_some(requests_, count, ended_.data(), statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
        for (int i = 0; i < count; ++i) {
            check(statuses_[std::size_t(i)].MPI_ERROR, "a message of the all-to-all");
        }
    }
    check(code, "MPI_Waitsome");
    for (int i = 0; i < count; ++i) {
        end(std::size_t(ended_[std::size_t(i)]), statuses_[std::size_t(i)]);
    }
}

void SlidingWindow::end(std::size_t slot, MPI_Status &status) {
    --under_way_;
    send_bytes_ -= sends_[slot];
    sends_under_way_ -= expected_[slot] < 0 ? 1 : 0;
    if (expected_[slot] >= 0) {
        check_length(platform::received_bytes(status), expected_[slot], status.MPI_SOURCE);
    }
}

} // namespace weft::alltoall
