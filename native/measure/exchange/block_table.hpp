// SPDX-License-Identifier: BSD-3-Clause
// Counts and displacements of m-vectors in the arrays of MPI calls, and the three calls of paper 000, Table 4.6.
#pragma once

#include "mpi/all_to_all.hpp"
#include "mpi/handles.hpp"

#include <climits>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace weft {

class BlockTable {
  public:
    /// `wide`: counts and displacements of 64 bits, for the _c calls of MPI 4; see needs_wide() and refusal().
    /// `algorithm`: see AllToAll.
    BlockTable(int ranks, bool wide, AllToAll algorithm = {});

    /// True if an array of this many vectors has displacements that do not fit into an int.
    [[nodiscard]] static constexpr bool needs_wide(std::uint64_t array_vectors) {
        return array_vectors > static_cast<std::uint64_t>(INT_MAX);
    }
    /// The reason why this MPI cannot exchange arrays of this many vectors of m doubles; empty if it can.
    [[nodiscard]] static std::string refusal(std::uint64_t array_vectors, std::uint64_t m);
    /// The same, for a given version of the MPI standard.
    [[nodiscard]] static std::string refusal(std::uint64_t array_vectors, std::uint64_t m, int mpi_version);
    /// Bytes that a table holds, for the memory need.
    [[nodiscard]] static std::uint64_t bytes(int ranks, bool wide);

    /// Every rank sends `block` vectors to every rank and receives the same number.
    void set_equal(std::uint64_t block);
    /// Block k to send is [begins[k], begins[k + 1]); `begins` holds ranks + 1 places.
    void set_send(std::span<std::uint64_t const> begins);
    /// Sets the received counts to impossible values, so that a call A without effect is detected.
    void forget_received();
    /// Call A: one integer to each rank, how many vectors it will get.
    void exchange_counts(MPI_Comm comm);
    /// Places the received blocks contiguously; `begins` (ranks + 1 entries) gets the start of each and their sum.
    /// Negative counts are taken as 0.
    void place_received(std::span<std::uint64_t> begins);
    /// Calls B and C: the blocks themselves.
    void exchange_blocks(void const *from, void *to, MPI_Datatype type, MPI_Comm comm) const;

  private:
    template <class Count, class Place> struct Arrays {
        explicit Arrays(std::size_t p) : send_counts(p), send_places(p), receive_counts(p), receive_places(p) {}
        std::vector<Count> send_counts;
        std::vector<Place> send_places;
        std::vector<Count> receive_counts;
        std::vector<Place> receive_places;
    };
    using Narrow = Arrays<int, int>;
    using Wide = Arrays<MPI_Count, MPI_Aint>;

    std::variant<Narrow, Wide> arrays_;
    AllToAll algorithm_;
};

/// A committed datatype of m doubles. m is at most INT_MAX; see BlockTable::refusal.
[[nodiscard]] Datatype vector_type(std::uint64_t m);

} // namespace weft
