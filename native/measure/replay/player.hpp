// SPDX-License-Identifier: BSD-3-Clause
// Plays one rank's script: the same messages and collective calls, on communicators of the same members, and between
// them the time that the application computed.
#pragma once

#include "host/buffer.hpp"
#include "mpi/all_to_all.hpp"
#include "mpi/handles.hpp"
#include "replay/script.hpp"

#include <vector>

namespace weft {

class Player {
  public:
    /// Collective: makes the communicators. Team and script must outlive it. `compute` scales the time between calls,
    /// `algorithm` makes the calls of MPI_Alltoall and MPI_Alltoallv.
    Player(Team const &team, Script const &script, double compute, AllToAll algorithm);

    /// How many ranks each communicator of the script has: all, then those of each layer; 0 if none is this rank's.
    std::vector<int> const &sizes() const noexcept { return sizes_; }
    /// Collective: makes the buffers. Only for a script whose actions fit.
    void allocate();
    void play();

  private:
    void act(Action const &action);
    void compute(std::int64_t ns) const;
    void collective(Action const &action, MPI_Comm comm);
    void parts(Action const &action, MPI_Comm comm);
    void listed(Action const &action, MPI_Comm comm);
    MPI_Comm comm_of(Action const &action) const;
    MPI_Request &slot(Action const &action) { return requests_[std::size_t(action.value)]; }

    Team const &team_;
    Script const &script_;
    double compute_;
    AllToAll algorithm_;
    std::vector<Comm> layers_;
    std::vector<MPI_Comm> comms_; // of all ranks, then this rank's of each layer
    std::vector<int> sizes_;
    Buffer send_;
    Buffer receive_;
    std::vector<MPI_Request> requests_;
    std::vector<int> counts_[2]; // scratch: to send, to receive
    std::vector<int> places_[2];
};

} // namespace weft
