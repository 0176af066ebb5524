// SPDX-License-Identifier: BSD-3-Clause
// The kernel `probe`: what LogGP's numbers of a fabric are found from (src/weft/tune/study.py). Each rank of the first
// node has a partner on the second; on one node, the first half of the ranks has partners in the second half.
//
//   small     bytes of a short message
//   large     bytes of a long one
//   messages  short ones back to back
//   trains    long ones back to back
//   more      so many times `messages` is the second number of short ones
//   longer    so many times `large` is the length of the second long ones
//
//   trip@SMALL        one way, as half of a round trip between two ranks
//   one-K@SMALL       K messages from one rank, back to back, and an answer of no bytes
//   all-K@SMALL       the same from all ranks of the first node at once
//   all-K@LARGE       the same with long messages, and with longer ones
//   copy@LARGE        a copy on every rank, as an all-to-all of one rank makes it; also longer
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "common/check.hpp"
#include "host/buffer.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace weft {

namespace {

constexpr int operations = 9;

struct ProbeRequest {
    std::int64_t small, large, messages, trains, more, longer;

    explicit ProbeRequest(Cell const &cell)
        : small(cell.integer("small")), large(cell.integer("large")), messages(cell.integer("messages")),
          trains(cell.integer("trains")), more(cell.integer("more")), longer(cell.integer("longer")) {}

    std::int64_t sent_bytes() const { return longer * large; }
    std::int64_t received_bytes() const { return std::max(longer * large * trains, more * messages * small); }
};

/// Who sends to whom.
struct Partner {
    int rank = MPI_PROC_NULL;
    bool sends = false;
    bool first = false; ///< of the first pair
};

Partner partner_of(Team const &team) {
    std::vector<int> from, to;
    for (int rank = 0; rank < team.size; ++rank) {
        bool const sender = team.nodes > 1 ? team.node_of[std::size_t(rank)] == 0 : rank < team.size / 2;
        bool const receiver = team.nodes > 1 ? team.node_of[std::size_t(rank)] == 1 : rank >= team.size / 2;
        if (sender || receiver) {
            (sender ? from : to).push_back(rank);
        }
    }
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
        if (from[i] == team.rank || to[i] == team.rank) {
            return {from[i] == team.rank ? to[i] : from[i], from[i] == team.rank, i == 0};
        }
    }
    return {};
}

/// Messages back to back between partners.
class Trains {
  public:
    Trains(Cell const &cell, ProbeRequest const &request)
        : comm_(cell.team().comm), partner_(partner_of(cell.team())),
          sent_(Buffer::make(cell.team(), std::size_t(request.sent_bytes()), "sent")),
          received_(Buffer::make(cell.team(), std::size_t(request.received_bytes()), "received")),
          requests_(std::size_t(std::max(request.more * request.messages, request.trains))) {}

    /// A message there and back between the first partners.
    void trip(int bytes) {
        if (!partner_.first) {
            return;
        }
        auto const send = [&] { check(MPI_Send(sent_.data(), bytes, MPI_BYTE, partner_.rank, 0, comm_), "MPI_Send"); };
        if (partner_.sends) {
            send();
        }
        check(MPI_Recv(received_.data(), bytes, MPI_BYTE, partner_.rank, 0, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
        if (!partner_.sends) {
            send();
        }
    }

    /// `count` messages, of all senders or of the first alone.
    void run(std::int64_t count, std::int64_t bytes, bool all) {
        if (partner_.rank == MPI_PROC_NULL || !(all || partner_.first)) {
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            auto &request = requests_[std::size_t(i)];
            if (partner_.sends) {
                check(MPI_Isend(sent_.data(), int(bytes), MPI_BYTE, partner_.rank, 0, comm_, &request), "MPI_Isend");
            } else {
                check(MPI_Irecv(received_.data() + i * bytes, int(bytes), MPI_BYTE, partner_.rank, 0, comm_, &request),
                      "MPI_Irecv");
            }
        }
        check(MPI_Waitall(int(count), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        if (partner_.sends) {
            check(MPI_Recv(nullptr, 0, MPI_BYTE, partner_.rank, 1, comm_, MPI_STATUS_IGNORE), "MPI_Recv of the answer");
        } else {
            check(MPI_Send(nullptr, 0, MPI_BYTE, partner_.rank, 1, comm_), "MPI_Send of the answer");
        }
    }

    void copy(int bytes) {
        check(MPI_Alltoall(sent_.data(), bytes, MPI_BYTE, received_.data(), bytes, MPI_BYTE, MPI_COMM_SELF),
              "MPI_Alltoall of one rank");
    }

  private:
    MPI_Comm comm_;
    Partner partner_;
    Buffer sent_;
    Buffer received_;
    std::vector<MPI_Request> requests_;
};

} // namespace

Need probe_need(Cell const &cell) {
    ProbeRequest const request(cell);
    return {{{"sent", request.sent_bytes()},
             {"received", request.received_bytes()},
             {"samples", Recorder::bytes(operations, cell.rules())},
             {"library staging", library_staging_bytes(cell.team().size)}}};
}

void run_probe(Cell &cell) {
    ProbeRequest const request(cell);
    Trains trains(cell, request);
    Sampler &sampler = cell.sampler();
    auto const measure = [&](std::string const &name, std::int64_t count, std::int64_t bytes, bool all) {
        auto const call = [&, count, bytes, all] { trains.run(count, bytes, all); };
        sampler.warm(op_at(name + "-" + std::to_string(count), bytes), call);
    };
    auto const trip = [&] { trains.trip(int(request.small)); };
    How const one_way{.operations = 2, .of_one_rank = true};
    sampler.cold(op_at("trip", request.small), trip, one_way);
    sampler.warm(op_at("trip", request.small), trip, one_way);
    for (std::int64_t const count : {request.messages, request.more * request.messages}) {
        measure("one", count, request.small, false);
        measure("all", count, request.small, true);
    }
    for (std::int64_t const bytes : {request.large, request.longer * request.large}) {
        measure("all", request.trains, bytes, true);
        auto const copy = [&, bytes] { trains.copy(int(bytes)); };
        sampler.warm(op_at("copy", bytes), copy, {.of_one_rank = true});
    }
    cell.skip_validation("messages without a meaning: there is nothing to prove");
}

} // namespace weft
