// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of MPI that the kernel `collective` measures: their names and arguments.
#pragma once

#include "common/check.hpp"
#include "mpi/all_to_all.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// Counts and displacements in elements, of MPI_Alltoallv; received counts also of MPI_Reduce_scatter.
template <class Count, class Place> struct CountArrays {
    std::vector<Count> send_counts;
    std::vector<Place> send_places;
    std::vector<Count> receive_counts;
    std::vector<Place> receive_places;
};

/// What the mock-ups of a call need besides its arguments.
struct MockUpRoom {
    MockUpRoom() = default;
    MockUpRoom(std::size_t count, MPI_Datatype type, std::byte *buffer)
        : ranks(int(count)), scratch(buffer), of_root(count), zeros(count), types(count, type) {}
    void set_block(int root, int elements) {
        if (!of_root.empty()) {
            of_root[std::size_t(root)] = elements;
        }
    }

    int ranks = 0;
    std::byte *scratch = nullptr;    ///< `CollectiveData::scratch_bytes`
    std::vector<int> of_root;        ///< elements of a block from the root, none from others
    std::vector<int> zeros;          ///< places
    std::vector<MPI_Datatype> types; ///< of each rank's block
};

/// The arguments of one call, with counts of its own as ints. Blocks are contiguous, block k for (or from) rank k.
struct CallArguments : CountArrays<int, int> {
    std::byte *send = nullptr;
    std::byte *receive = nullptr;
    int count = 0; ///< elements of a block
    MPI_Datatype type = MPI_BYTE;
    int root = 0;
    bool in_place = false;
    AllToAll algorithm; ///< of MPI_Alltoall and MPI_Alltoallv
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    MockUpRoom const *room = nullptr;      ///< null: no mock-up is called
    MPI_Count wide_count = 0;              ///< elements of a block, where an int cannot count them
    CountArrays<MPI_Count, MPI_Aint> wide; ///< the same for all ranks; empty where ints count every block

    [[nodiscard]] bool is_root() const noexcept { return rank == root; }
};

/// Number of blocks in an array of a rank.
enum class Blocks { none, one, all };

struct Collective {
    std::string_view name;
    void (*call)(CallArguments const &); ///< throws MpiError
    Blocks sent;                         ///< of a rank; of the root where `rooted`
    Blocks received;
    bool rooted = false;    ///< one rank has a special role
    bool reduces = false;   ///< sums doubles
    bool in_place = true;   ///< has a form with MPI_IN_PLACE
    bool by_counts = false; ///< blocks may differ
};

std::span<Collective const> collectives();
/// The same call with counts of 64 bits (MPI_Bcast_c), null where this MPI has none: before MPI 4. Throws MpiError.
[[nodiscard]] void (*wide_call(Collective const &collective))(CallArguments const &);
/// Throws Failure with the available names if there is none of this name.
Collective const &collective_named(std::string_view name);

} // namespace weft
