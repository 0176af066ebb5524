// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_values.hpp"

#include "mpi/message.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

constexpr std::int64_t word_bytes = 8;

/// Word `i` of a rank's message: identifies rank and position, and all words of a message differ.
std::uint64_t word_of(int rank, std::int64_t i) {
    std::uint64_t x =
        (std::uint64_t(rank) + 1) * 0x9e3779b97f4a7c15ULL ^ (std::uint64_t(i) + 1) * 0xc2b2ae3d27d4eb4fULL;
    return x ^ x >> 29;
}

/// Compares a message of `rank` word by word: returns the first byte of the first wrong word, or -1. `wrong` counts the
/// wrong words.
std::int64_t first_flaw(int rank, std::span<std::byte const> message, std::int64_t &wrong) {
    std::int64_t first = -1;
    auto const bytes = std::int64_t(message.size());
    for (std::int64_t at = 0; at < bytes; at += word_bytes) {
        std::uint64_t const word = word_of(rank, at / word_bytes);
        if (std::memcmp(message.data() + at, &word, std::size_t(std::min(word_bytes, bytes - at))) != 0) {
            first = first < 0 ? at : first;
            ++wrong;
        }
    }
    return first;
}

} // namespace

PairValues::PairValues(Cell &cell, Buffer &send, Buffer &receive) : cell_(cell), send_(send), receive_(receive) {
    if (!send.real()) {
        return;
    }
    auto const bytes = std::int64_t(send.bytes());
    for (std::int64_t at = 0; at < bytes; at += word_bytes) {
        std::uint64_t const word = word_of(cell.team().rank, at / word_bytes);
        std::memcpy(send.data() + at, &word, std::size_t(std::min(word_bytes, bytes - at)));
    }
}

void PairValues::prove(PairRound const &round, std::int64_t bytes) {
    if (!send_.real() || bytes == 0) {
        return; // nothing was received
    }
    auto const received = std::span(receive_.data(), std::size_t(bytes));
    if (round.partner >= 0) {
        constexpr int tag = 14;
        std::fill(received.begin(), received.end(), std::byte{0xa5}); // data of an earlier message must not count
        check(swap_bytes(send_.data(), receive_.data(), bytes, round.partner, tag, cell_.team().comm),
              "MPI_Sendrecv of the proof");
    }
    corrupt(round, bytes);
    if (round.partner < 0) {
        return;
    }
    std::int64_t const at = first_flaw(round.partner, received, errors_);
    if (at >= 0 && first_.empty()) {
        first_ = "rank " + std::to_string(cell_.team().rank) + " from rank " + std::to_string(round.partner) +
                 ": bytes " + std::to_string(at) + " to " + std::to_string(std::min(at + word_bytes, bytes) - 1) +
                 " of " + std::to_string(bytes) + " are not what was sent";
    }
}

/// The test hook WEFT_PLANT=corrupt: flips the last bit of one received byte, once, on the lowest rank with a partner.
void PairValues::corrupt(PairRound const &round, std::int64_t bytes) {
    if (corrupted_ || !planted(cell_, "corrupt")) {
        return;
    }
    Team const &team = cell_.team();
    corrupted_ = true;
    if (min_over(team.comm, round.partner >= 0 ? team.rank : team.size) == team.rank) {
        receive_.data()[bytes / 2] ^= std::byte{1};
    }
}

void PairValues::settle() {
    if (!send_.real()) {
        return cell_.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    cell_.set_validation(errors_, errors_ > 0 ? first_ : "every byte of a message of each pair and size is right");
}

} // namespace weft
