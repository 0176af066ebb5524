// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "common/comm.hpp"
#include "error.hpp"
#include "hooks.hpp"

namespace weft::alltoall {

/// A communicator of the library, which an interposer does not intercept.
class Comm : public OwnComm {
  public:
    using OwnComm::OwnComm;

    /// Split, not dup: a dup would run the copy callbacks of the attributes that the user has on the communicator.
    static Comm split(MPI_Comm of, int color, int key) {
        at_step("split");
        MPI_Comm made = MPI_COMM_NULL;
        check(PMPI_Comm_split(of, color, key, &made), "MPI_Comm_split");
        return Comm(made);
    }
};

} // namespace weft::alltoall
