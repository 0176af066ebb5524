// SPDX-License-Identifier: BSD-3-Clause
// RAII for the MPI handles of the library. Its traffic uses PMPI_ names, so that an interposer does not intercept it.
#pragma once

#include "error.hpp"
#include "hooks.hpp"

#include <utility>

namespace weft::alltoall {

/// An owned communicator with MPI_ERRORS_RETURN.
class Comm {
  public:
    Comm() = default;
    explicit Comm(MPI_Comm owned) : comm_(owned) {
        if (comm_ != MPI_COMM_NULL) {
            PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        }
    }
    Comm(Comm &&other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), kept_(other.kept_) {}
    Comm &operator=(Comm &&other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(kept_, other.kept_);
        return *this;
    }
    ~Comm() {
        int down = 0;
        if (comm_ != MPI_COMM_NULL && !kept_ && PMPI_Finalized(&down) == MPI_SUCCESS && down == 0) {
            PMPI_Comm_free(&comm_);
        }
    }

    /// Split, not dup: a dup would run the copy callbacks of the attributes that the user has on the communicator.
    static Comm split(MPI_Comm of, int color, int key) {
        at_step("split");
        MPI_Comm made = MPI_COMM_NULL;
        check(PMPI_Comm_split(of, color, key, &made), "MPI_Comm_split");
        return Comm(made);
    }

    MPI_Comm get() const noexcept { return comm_; }

    /// Never frees it: see State::keep_for_good.
    void keep_for_good() noexcept { kept_ = true; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool kept_ = false;
};

} // namespace weft::alltoall
