// SPDX-License-Identifier: BSD-3-Clause
// Communicators and windows: who is which rank of MPI_COMM_WORLD.
#pragma once

#include "file.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace weft::trace {

/// The members of a communicator or window, as this rank addresses them.
struct Group {
    std::uint32_t id = 0; // this rank's number; 0 for windows
    int rank = 0;
    int size = 1; // of the group that collective sizes refer to: of an intercommunicator the other one
    bool inter = false;
    std::uint64_t hash = 0;          // of the members in their order
    std::vector<std::int32_t> world; // by rank in it; empty: the same

    std::int32_t world_rank(int member) const noexcept;
};

using GroupPointer = std::shared_ptr<Group const>;

/// Whom a rank receives from and sends to in neighbourhood calls, as ranks of MPI_COMM_WORLD, in the order of blocks.
struct Neighbours {
    std::vector<std::int32_t> from, to;
};
using NeighboursPointer = std::shared_ptr<Neighbours const>;

class Groups {
  public:
    /// Right after MPI_Init.
    void begin();
    /// What a communicator is; one that was made unseen is defined now.
    GroupPointer const &of(MPI_Comm comm, File &file);
    /// A communicator was made from `parent` by a collective call.
    void define(MPI_Comm comm, MPI_Comm parent, File &file);
    /// A duplicate of `parent` is being made, and may not be asked anything yet.
    void define_duplicate(MPI_Comm comm, MPI_Comm parent, File &file);
    GroupPointer of_window(MPI_Win window);
    /// The neighbours in a communicator with a topology, asked for once; nobody in one without.
    NeighboursPointer neighbours(MPI_Comm comm, Group const &group);
    void forget(MPI_Comm comm);
    void forget_window(MPI_Win window);

  private:
    GroupPointer const &seen(MPI_Comm comm, File &file);
    Group asked(MPI_Comm comm) const;
    GroupPointer numbered(Group group, MPI_Comm parent, File &file);
    std::vector<std::int32_t> translated(MPI_Group group) const;

    std::mutex guard_;
    std::atomic<std::uint64_t> generation_{1}; // of what threads remember
    MPI_Group world_group_ = MPI_GROUP_NULL;
    std::uint32_t made_ = self_id;
    std::map<MPI_Comm, GroupPointer> known_;
    std::map<MPI_Win, GroupPointer> windows_;
    std::map<MPI_Comm, NeighboursPointer> neighbours_;
    std::unordered_map<std::uint64_t, std::uint64_t> made_of_members_;
};

} // namespace weft::trace
