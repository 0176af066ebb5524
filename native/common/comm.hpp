// SPDX-License-Identifier: BSD-3-Clause
// RAII for communicators. Weft's own traffic uses the PMPI_ names, so that a tool sees only the measured call, and an
// interposer does not intercept it.
#pragma once

#include "common/check.hpp"

#include <utility>

namespace weft {

/// True between MPI_Init and MPI_Finalize: a handle that outlives MPI must not be freed.
inline bool mpi_is_up() {
    int up = 0;
    int down = 0;
    PMPI_Initialized(&up);
    PMPI_Finalized(&down);
    return up != 0 && down == 0;
}

/// An owned communicator, or MPI_COMM_WORLD. Its error handler is MPI_ERRORS_RETURN, so that `check` can report errors.
class OwnComm {
  public:
    OwnComm() = default;
    /// Takes ownership of `owned` (which may be MPI_COMM_NULL).
    explicit OwnComm(MPI_Comm owned) : comm_(owned) {
        if (comm_ != MPI_COMM_NULL) {
            check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        }
    }
    OwnComm(OwnComm &&other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), kept_(other.kept_) {}
    OwnComm &operator=(OwnComm &&other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(kept_, other.kept_);
        return *this;
    }
    ~OwnComm() {
        if (comm_ != MPI_COMM_NULL && comm_ != MPI_COMM_WORLD && !kept_ && mpi_is_up()) {
            PMPI_Comm_free(&comm_);
        }
    }

    MPI_Comm get() const noexcept { return comm_; }

    /// Never frees it.
    void keep_for_good() noexcept { kept_ = true; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool kept_ = false;
};

} // namespace weft
