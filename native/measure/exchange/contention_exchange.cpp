// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/contention_exchange.hpp"

#include <cstring>

namespace weft {

namespace {

std::uint64_t vector_bytes(ContentionSet const &set, std::uint64_t m, Calls calls) {
    return calls.vectors ? set.local() * m * sizeof(double) : 0;
}

std::uint64_t integer_bytes(ContentionSet const &set, Calls calls) {
    return calls.integers ? set.local() * sizeof(int) : 0;
}

} // namespace

ContentionExchange::ContentionExchange(Team const &team, ContentionSet const &set, std::uint64_t m, Calls calls,
                                       AllToAll algorithm)
    : team_(team), set_(set), m_(m), calls_(calls),
      table_(set.ranks, BlockTable::needs_wide(set.local()), std::move(algorithm)), vector_type_(vector_type(m)),
      begins_(set.p() + 1) {
    table_.set_equal(set.block());
    if (calls.vectors) {
        unsorted_ = Buffer::make(team, vector_bytes(set, m, calls), "unsorted");
        sorted_ = Buffer::make(team, vector_bytes(set, m, calls), "sorted");
    }
    if (calls.integers) {
        sent_integers_ = Buffer::make(team, integer_bytes(set, calls), "integers to send");
        received_integers_ = Buffer::make(team, integer_bytes(set, calls), "integers to receive");
    }
}

void ContentionExchange::add_need(Need &need, ContentionSet const &set, std::uint64_t m, Calls calls) {
    auto const add = [&](char const *name, std::uint64_t bytes) {
        need.parts.push_back({name, static_cast<std::int64_t>(bytes)});
    };
    add("unsorted", vector_bytes(set, m, calls));
    add("sorted", vector_bytes(set, m, calls));
    add("int buffers", 2 * integer_bytes(set, calls));
    add("counts and displacements",
        BlockTable::bytes(set.ranks, BlockTable::needs_wide(set.local())) + (set.p() + 1) * sizeof(std::uint64_t));
}

bool ContentionExchange::real() const {
    return (!calls_.vectors || (unsorted_.real() && sorted_.real())) &&
           (!calls_.integers || (sent_integers_.real() && received_integers_.real()));
}

void ContentionExchange::fill() {
    if (calls_.vectors && unsorted_.real()) {
        write_unsorted(set_, team_.rank, array(unsorted_));
    }
    if (calls_.integers && sent_integers_.real()) {
        write_integers(set_, team_.rank, sent_integers_.as<int>());
    }
}

void ContentionExchange::exchange_counts() {
    table_.exchange_counts(team_.comm);
}

void ContentionExchange::exchange_integers() {
    table_.exchange_blocks(sent_integers_.data(), received_integers_.data(), MPI_INT, team_.comm);
}

void ContentionExchange::exchange_vectors() {
    table_.exchange_blocks(unsorted_.data(), sorted_.data(), vector_type_, team_.comm);
}

PeerBlocks ContentionExchange::blocks() const {
    PeerBlocks blocks;
    blocks.type = calls_.vectors ? MPI_Datatype(vector_type_) : MPI_INT;
    auto const bytes = set_.block() * (calls_.vectors ? m_ * sizeof(double) : sizeof(int));
    Buffer const &from = calls_.vectors ? unsorted_ : sent_integers_;
    Buffer const &to = calls_.vectors ? sorted_ : received_integers_;
    for (std::uint64_t rank = 0; rank < set_.p(); ++rank) {
        blocks.send.push_back({from.data() + rank * bytes, static_cast<MPI_Count>(set_.block())});
        blocks.receive.push_back({to.data() + rank * bytes, static_cast<MPI_Count>(set_.block())});
    }
    return blocks;
}

Flaws ContentionExchange::prove(Disturb const &disturb) {
    Disturb const leave = [](std::span<std::byte>) {};
    Flaws flaws;
    if (calls_.counts) {
        flaws.join(prove_counts(calls_.integers || calls_.vectors ? leave : disturb));
    }
    if (calls_.integers) {
        flaws.join(prove_integers(calls_.vectors ? leave : disturb));
    }
    if (calls_.vectors) {
        flaws.join(prove_vectors(disturb));
    }
    return flaws;
}

Flaws ContentionExchange::prove_counts(Disturb const &disturb) {
    table_.forget_received();
    exchange_counts();
    table_.place_received(begins_);
    disturb(std::as_writable_bytes(std::span(begins_)));
    Flaws flaws;
    for (std::size_t from = 0; from + 1 < begins_.size(); ++from) {
        auto const received = begins_[from + 1] - begins_[from];
        if (received != set_.block()) {
            flaws.add([&] {
                return "rank " + std::to_string(team_.rank) + ": call A: rank " + std::to_string(from) + " announces " +
                       std::to_string(received) + " vectors, expected " + std::to_string(set_.block());
            });
        }
    }
    table_.set_equal(set_.block()); // calls after a wrong A must not write beyond their buffers
    return flaws;
}

Flaws ContentionExchange::prove_integers(Disturb const &disturb) {
    std::memset(received_integers_.data(), 0xff, received_integers_.bytes()); // -1, which no key has
    exchange_integers();
    disturb(received_integers_.as<std::byte>());
    return check_integers(set_, team_.rank, received_integers_.as<int>());
}

Flaws ContentionExchange::prove_vectors(Disturb const &disturb) {
    std::memset(sorted_.data(), 0xff, sorted_.bytes()); // NaNs, which no key is
    exchange_vectors();
    disturb(sorted_.as<std::byte>());
    return check_contention(set_, team_.rank, array(sorted_));
}

} // namespace weft
