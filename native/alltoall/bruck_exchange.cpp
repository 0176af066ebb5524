// SPDX-License-Identifier: BSD-3-Clause
#include "bruck_exchange.hpp"

#include "bruck_steps.hpp"
#include "error.hpp"
#include "hooks.hpp"
#include "platform.hpp"
#include "transfer.hpp"

#include <cstring>

namespace weft::alltoall {

namespace {

constexpr std::int64_t size_bytes = std::int64_t(sizeof(std::int64_t));

/// [sizes, unless equal][blocks]
std::vector<std::byte> message_of(BruckStep const &step, std::vector<Held> const &held, bool equal) {
    std::int64_t total = equal ? 0 : size_bytes * std::int64_t(step.blocks.size());
    for (int const j : step.blocks) {
        total += held[std::size_t(j)].bytes;
    }
    std::vector<std::byte> message(static_cast<std::size_t>(total));
    std::byte *at = message.data();
    for (int const j : step.blocks) {
        if (!equal) {
            std::memcpy(at, &held[std::size_t(j)].bytes, sizeof(std::int64_t));
            at += size_bytes;
        }
    }
    for (int const j : step.blocks) {
        if (held[std::size_t(j)].bytes > 0) {
            platform::copy(at, held[std::size_t(j)].data, std::size_t(held[std::size_t(j)].bytes));
        }
        at += held[std::size_t(j)].bytes;
    }
    return message;
}

/// Points `held` to the blocks in a received message.
void take(BruckStep const &step, std::vector<std::byte> const &message, bool equal, std::vector<Held> &held) {
    std::byte const *sizes = message.data();
    std::byte const *at = sizes + (equal ? 0 : size_bytes * std::int64_t(step.blocks.size()));
    for (int const j : step.blocks) {
        Held &block = held[std::size_t(j)];
        if (!equal) {
            std::memcpy(&block.bytes, sizes, sizeof(std::int64_t));
            sizes += size_bytes;
        }
        block.data = at;
        at += block.bytes;
    }
}

/// `bytes`: of the message, or -1 if they are not known.
std::vector<std::byte> received(BruckTeam const &team, int from, std::int64_t bytes) {
    at_step("receive");
    MPI_Status status;
    if (bytes < 0) {
        check(PMPI_Probe(from, team.tag, team.comm, &status), "MPI_Probe");
        bytes = platform::received_bytes(status);
    }
    if (bytes == 0) { // with the sizes of its blocks no message is empty
        throw Refused();
    }
    std::vector<std::byte> message(static_cast<std::size_t>(bytes));
    check(PMPI_Recv(message.data(), int(bytes), MPI_BYTE, from, team.tag, team.comm, &status), "MPI_Recv");
    check_length(platform::received_bytes(status), bytes, from);
    return message;
}

} // namespace

void bruck_exchange(BruckTeam const &team, std::vector<Held> &held, bool equal, Kept &kept) {
    int const members = int(team.ranks.size());
    for (auto const &round : bruck_rounds(members, team.radix)) {
        std::vector<std::vector<std::byte>> going;
        SlidingWindow window(team.comm, team.tag, int(round.size()) + 1, INT64_MAX);
        for (BruckStep const &step : round) {
            going.push_back(message_of(step, held, equal));
            int const to = team.ranks[std::size_t((team.me + step.distance) % members)];
            window.send(bytes_at(going.back().data(), std::int64_t(going.back().size())), to);
        }
        for (std::size_t i = 0; i < round.size(); ++i) {
            BruckStep const &step = round[i];
            int const from = team.ranks[std::size_t((team.me - step.distance + members) % members)];
            // equal blocks: as many bytes come as go
            kept.push_back(received(team, from, equal ? std::int64_t(going[i].size()) : -1));
            take(step, kept.back(), equal, held);
        }
        window.drain();
    }
}

} // namespace weft::alltoall
