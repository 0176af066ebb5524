// SPDX-License-Identifier: BSD-3-Clause
// The buffers of the contention set and the three calls on them (paper 000, Table 4.6).
#pragma once

#include "breakdown/peer_blocks.hpp"
#include "exchange/block_table.hpp"
#include "exchange/proof.hpp"
#include "host/buffer.hpp"
#include "host/memory.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace weft {

/// Which of the three calls are measured.
struct Calls {
    bool counts = false;   ///< A: MPI_Alltoall of one int
    bool integers = false; ///< B: MPI_Alltoallv of l_n / p ints a pair
    bool vectors = false;  ///< C: MPI_Alltoallv of l_n / p m-vectors a pair

    [[nodiscard]] int count() const { return int(counts) + int(integers) + int(vectors); }
};

/// May change received bytes before they are checked.
using Disturb = std::function<void(std::span<std::byte> received)>;

class ContentionExchange {
  public:
    /// Allocates what the calls need: C the two arrays, B two arrays of l_n ints. Collective; throws Refusal
    /// (`memory`).
    ContentionExchange(Team const &team, ContentionSet const &set, std::uint64_t m, Calls calls,
                       AllToAll algorithm = {});

    /// Adds the memory that one rank allocates; the same on every rank.
    static void add_need(Need &need, ContentionSet const &set, std::uint64_t m, Calls calls);

    /// False in a simulator that folds the arrays.
    [[nodiscard]] bool real() const;
    /// Writes the data set into the send buffers.
    void fill();

    void exchange_counts();   ///< A
    void exchange_integers(); ///< B
    void exchange_vectors();  ///< C

    /// The blocks of C, or of B if C is not measured: the call of the breakdown.
    [[nodiscard]] PeerBlocks blocks() const;

    /// Collective: repeats every call with overwritten receive buffers, and checks every received value. Uses the
    /// public MPI_ names, so that errors of a library or an interposer are detected. `disturb` gets the data received
    /// by the last call before the check, for planted faults.
    [[nodiscard]] Flaws prove(Disturb const &disturb);

  private:
    [[nodiscard]] Vectors array(Buffer const &buffer) const { return {buffer.as<double>().data(), set_.local(), m_}; }
    [[nodiscard]] Flaws prove_counts(Disturb const &disturb);
    [[nodiscard]] Flaws prove_integers(Disturb const &disturb);
    [[nodiscard]] Flaws prove_vectors(Disturb const &disturb);

    Team const &team_;
    ContentionSet set_;
    std::uint64_t m_;
    Calls calls_;
    Buffer unsorted_;
    Buffer sorted_;
    Buffer sent_integers_;
    Buffer received_integers_;
    BlockTable table_;
    Datatype vector_type_;
    std::vector<std::uint64_t> begins_; ///< what the proof reads call A's counts into
};

} // namespace weft
