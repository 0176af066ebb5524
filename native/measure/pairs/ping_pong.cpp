// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/ping_pong.hpp"

namespace weft {

PingPong::PingPong(MPI_Comm comm, Clock const &clock, Losses const &losses, Buffer const &send, Buffer const &receive,
                   std::int64_t bytes, PingWindow window)
    : comm_(comm), clock_(clock), losses_(losses), send_(send.data()), receive_(receive.data()), bytes_(bytes),
      stride_(window.stride(bytes)),
      requests_(window.messages(bytes) > 1 ? std::size_t(window.messages(bytes)) : 0, MPI_REQUEST_NULL) {}

void PingPong::send_window(int partner) const {
    for (std::size_t k = 0; k < requests_.size(); ++k) {
        check(start_sending(send_ + std::int64_t(k) * stride_, bytes_, partner, tag, comm_, &requests_[k]),
              "MPI_Isend");
    }
    check(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

void PingPong::receive_window(int partner, std::size_t first) const {
    for (std::size_t k = first; k < requests_.size(); ++k) {
        check(start_receiving(receive_ + std::int64_t(k) * stride_, bytes_, partner, tag, comm_, &requests_[k]),
              "MPI_Irecv");
    }
    check(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

// The usage read after a sample is also the one before the next: one system call a sample, outside of the timed part.
void PingPong::initiate(int partner, Trips trips, std::span<Row> rows) const {
    auto before = losses_.read();
    for (Row &row : rows) {
        if (trips.lead) {
            wake(partner, true);
        }
        auto const begin = clock_.now();
        for (std::int64_t call = 0; call < trips.timed; ++call) {
            ping(partner);
            pong(partner);
        }
        auto const end = clock_.now();
        auto const after = losses_.read();
        row = {begin, end - begin, losses_.between(before, after)};
        before = after;
    }
}

void PingPong::respond(int partner, Trips trips, std::span<Answer> answers) const {
    auto before = losses_.read();
    for (Answer &answer : answers) {
        if (trips.lead) {
            wake(partner, false);
        }
        pong(partner);
        answer.arrived_ns = clock_.now();
        dawdle();
        ping(partner);
        for (std::int64_t call = 1; call < trips.timed; ++call) {
            pong(partner);
            dawdle();
            ping(partner);
        }
        auto const after = losses_.read();
        answer.lost = losses_.between(before, after);
        before = after;
    }
}

void PingPong::exchange(int partner, Trips trips, std::span<Row> rows, std::span<Answer> answers, bool met) const {
    if (met) {
        join(partner);
    }
    auto before = losses_.read();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (trips.lead) {
            swap(partner);
        }
        auto const begin = clock_.now();
        auto const arrived = swap(partner);
        for (std::int64_t call = 1; call < trips.timed; ++call) {
            swap(partner);
        }
        auto const end = clock_.now();
        auto const after = losses_.read();
        auto const lost = losses_.between(before, after);
        rows[i] = {begin, end - begin, lost};
        answers[i] = {arrived, lost};
        before = after;
    }
}

void PingPong::move_both_ways(std::int64_t part) {
    both_ways_ = true;
    part_ = part;
    std::int64_t const parts = bytes_ <= part ? 1 : (bytes_ + part - 1) / part;
    parts_.assign(2 * std::size_t(parts), MPI_REQUEST_NULL);
}

std::int64_t PingPong::swap(int partner) const {
    std::size_t const parts = parts_.size() / 2;
    auto const length = [&](std::int64_t low) { return std::min(part_, bytes_ - low); };
    for (std::size_t k = 0; k < parts; ++k) {
        std::int64_t const low = k == 0 ? 0 : std::int64_t(k) * part_;
        check(start_receiving(receive_ + low, length(low), partner, tag, comm_, &parts_[k]), "MPI_Irecv");
    }
    dawdle();
    for (std::size_t k = 0; k < parts; ++k) {
        std::int64_t const low = k == 0 ? 0 : std::int64_t(k) * part_;
        check(start_sending(send_ + low, length(low), partner, tag, comm_, &parts_[parts + k]), "MPI_Isend");
    }
    wait_for_parts(0);
    auto const arrived = clock_.now();
    wait_for_parts(parts);
    join(partner);
    return arrived;
}

void PingPong::wait_for_parts(std::size_t first) const {
    check(MPI_Waitall(int(parts_.size() / 2), parts_.data() + first, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

void PingPong::join(int partner) const {
    check(PMPI_Sendrecv(send_, 0, MPI_BYTE, partner, meeting, receive_, 0, MPI_BYTE, partner, meeting, comm_,
                        MPI_STATUS_IGNORE),
          "MPI_Sendrecv of a meeting");
}

void PingPong::wake(int partner, bool initiates) const {
    if (initiates) {
        ping(partner);
    }
    pong(partner);
    if (!initiates) {
        ping(partner);
    }
}

std::int64_t PingPong::accompany(int partner, bool initiates, std::function<bool()> const &over) const {
    std::int64_t last = clock_.now();
    if (both_ways_) {
        while (goes_on(partner, initiates, over)) {
            last = swap(partner);
        }
        return last;
    }
    if (initiates) {
        while (!over()) {
            ping(partner);
            pong(partner);
            last = clock_.now();
        }
        check(PMPI_Send(send_, 0, MPI_BYTE, partner, farewell, comm_), "MPI_Send of a farewell");
        return last;
    }
    while (true) {
        MPI_Status status;
        check(receive_bytes(receive_, bytes_, partner, MPI_ANY_TAG, comm_, &status), "MPI_Recv");
        if (status.MPI_TAG == farewell) {
            return last;
        }
        if (!requests_.empty()) {
            receive_window(partner, 1);
        }
        dawdle();
        ping(partner);
        last = clock_.now();
    }
}

/// What the initiator knows, on both sides.
bool PingPong::goes_on(int partner, bool initiates, std::function<bool()> const &over) const {
    char more = 0;
    if (initiates) {
        more = over() ? 0 : 1;
        check(PMPI_Send(&more, 1, MPI_CHAR, partner, farewell, comm_), "MPI_Send of a farewell");
    } else {
        check(PMPI_Recv(&more, 1, MPI_CHAR, partner, farewell, comm_, MPI_STATUS_IGNORE), "MPI_Recv of a farewell");
    }
    return more != 0;
}

void PingPong::meet(int partner, bool initiates) const {
    if (initiates) {
        check(PMPI_Recv(receive_, 0, MPI_BYTE, partner, meeting, comm_, MPI_STATUS_IGNORE), "MPI_Recv of a meeting");
    } else {
        check(PMPI_Send(send_, 0, MPI_BYTE, partner, meeting, comm_), "MPI_Send of a meeting");
    }
}

void PingPong::dawdle() const {
    if (delay_ns_ > 0) [[unlikely]] {
        platform::sleep_ns(delay_ns_);
    }
}

} // namespace weft
