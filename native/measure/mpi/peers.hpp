// SPDX-License-Identifier: BSD-3-Clause
// The ranks to which Weft's own traffic may have opened a connection (METHOD 3): a first call is on fresh connections
// only to other ranks.
//
// A library may open a connection to any member of a communicator when it creates the communicator, reduces or
// broadcasts. So all members of a communicator that Weft made or used in a collective count as met; Weft's own messages
// are only between such members. The count is an upper limit: other connections are certainly fresh.
#pragma once

#include "common/check.hpp"

#include <mpi.h>

#include <set>
#include <vector>

namespace weft {

class Peers {
  public:
    /// The instance of this process.
    static Peers &met() {
        static Peers peers;
        return peers;
    }

    /// Notes a collective of Weft's own over these ranks.
    void meet_all(MPI_Comm comm) {
        for (int const rank : in_world(comm)) {
            met_.insert(rank);
        }
    }
    /// Number of other ranks of `comm` that were met.
    [[nodiscard]] int among(MPI_Comm comm) const {
        int own = 0;
        check(PMPI_Comm_rank(MPI_COMM_WORLD, &own), "MPI_Comm_rank");
        int count = 0;
        for (int const rank : in_world(comm)) {
            count += rank != own && met_.count(rank) > 0 ? 1 : 0;
        }
        return count;
    }
    /// For tests.
    void forget() { met_.clear(); }

  private:
    /// The members of a communicator as ranks of MPI_COMM_WORLD; a local operation.
    static std::vector<int> in_world(MPI_Comm comm) {
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Group world = MPI_GROUP_NULL;
        check(PMPI_Comm_group(comm, &group), "MPI_Comm_group");
        check(PMPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
        int size = 0;
        check(PMPI_Group_size(group, &size), "MPI_Group_size");
        std::vector<int> from(static_cast<std::size_t>(size));
        for (int rank = 0; rank < size; ++rank) {
            from[static_cast<std::size_t>(rank)] = rank;
        }
        std::vector<int> to(from.size());
        check(PMPI_Group_translate_ranks(group, size, from.data(), world, to.data()), "MPI_Group_translate_ranks");
        PMPI_Group_free(&group);
        PMPI_Group_free(&world);
        return to;
    }

    std::set<int> met_;
};

} // namespace weft
