// SPDX-License-Identifier: BSD-3-Clause
// RAII for MPI handles. Weft's own traffic uses the PMPI_ names, so that a tool sees only the measured call.
#pragma once

#include "common/comm.hpp"
#include "mpi/peers.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weft {

/// MPI from MPI_Init to MPI_Finalize, by the public names, in which interposers initialise themselves. Where the
/// variable WEFT_THREADS is `multiple`, any thread may call it, if the library can do that.
class Library {
  public:
    Library(int &argc, char **&argv) {
        char const *const threads = std::getenv("WEFT_THREADS");
        int given = MPI_THREAD_SINGLE;
        check(threads != nullptr && std::strcmp(threads, "multiple") == 0
                  ? MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given)
                  : MPI_Init(&argc, &argv),
              "MPI_Init");
    }
    Library(Library const &) = delete;
    Library &operator=(Library const &) = delete;
    ~Library() {
        if (mpi_is_up()) {
            MPI_Finalize();
        }
    }
};

/// A communicator of the kernels: all its ranks count as met.
class Comm : public OwnComm {
  public:
    using OwnComm::OwnComm;

    /// MPI_COMM_WORLD itself, not owned.
    static Comm world() { return Comm(MPI_COMM_WORLD); }
    static Comm duplicate(MPI_Comm of) {
        MPI_Comm made = MPI_COMM_NULL;
        check(PMPI_Comm_dup(of, &made), "MPI_Comm_dup");
        Peers::met().meet_all(of);
        return Comm(made);
    }
    /// `color` may be MPI_UNDEFINED: then null() holds.
    static Comm split(MPI_Comm of, int color, int key) {
        MPI_Comm made = MPI_COMM_NULL;
        check(PMPI_Comm_split(of, color, key, &made), "MPI_Comm_split");
        Peers::met().meet_all(of);
        return Comm(made);
    }
    static Comm split_shared(MPI_Comm of, int key) {
        MPI_Comm made = MPI_COMM_NULL;
        check(PMPI_Comm_split_type(of, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &made), "MPI_Comm_split_type");
        Peers::met().meet_all(of);
        return Comm(made);
    }

    operator MPI_Comm() const noexcept { return get(); } // NOLINT(google-explicit-constructor): stands for the handle
    bool null() const noexcept { return get() == MPI_COMM_NULL; }
    int rank() const {
        int rank = 0;
        check(PMPI_Comm_rank(get(), &rank), "MPI_Comm_rank");
        return rank;
    }
    int size() const {
        int size = 0;
        check(PMPI_Comm_size(get(), &size), "MPI_Comm_size");
        return size;
    }
};

// Small collectives on 64-bit integers, all outside of timed regions.

inline std::int64_t max_over(MPI_Comm comm, std::int64_t mine) {
    check(PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, comm), "MPI_Allreduce of a maximum");
    return mine;
}

inline std::int64_t min_over(MPI_Comm comm, std::int64_t mine) {
    check(PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MIN, comm), "MPI_Allreduce of a minimum");
    return mine;
}

inline std::int64_t sum_over(MPI_Comm comm, std::int64_t mine) {
    check(PMPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, comm), "MPI_Allreduce of a sum");
    return mine;
}

} // namespace weft
