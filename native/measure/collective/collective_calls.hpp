// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of MPI that the kernel `collective` measures: what each is called and what it works on.
#pragma once

#include "mpi/check.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// The arguments of one call. Blocks lie one behind the other, block k for (or from) rank k.
struct CallArguments {
    std::byte *send = nullptr;
    std::byte *receive = nullptr;
    int count = 0; ///< elements of a block
    MPI_Datatype type = MPI_BYTE;
    int root = 0;
    bool in_place = false;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    std::vector<int> send_counts; ///< of MPI_Alltoallv; places in elements, too
    std::vector<int> send_places;
    std::vector<int> receive_counts; ///< also of MPI_Reduce_scatter
    std::vector<int> receive_places;

    [[nodiscard]] bool is_root() const noexcept { return rank == root; }
};

/// How many blocks an array of a rank has.
enum class Blocks { none, one, all };

struct Collective {
    std::string_view name;
    void (*call)(CallArguments const &); ///< throws MpiError
    Blocks sent;                         ///< of a rank; of the root where `rooted`
    Blocks received;
    bool rooted = false;    ///< one rank differs from the others
    bool reduces = false;   ///< adds doubles up
    bool in_place = true;   ///< has a form with MPI_IN_PLACE
    bool by_counts = false; ///< blocks may differ
};

std::span<Collective const> collectives();
/// Throws Failure with the names there are.
Collective const &collective_named(std::string_view name);

} // namespace weft
