// SPDX-License-Identifier: BSD-3-Clause
// RAII for communicators and datatypes. Weft's own traffic uses the PMPI_ names, so that a tool sees only the measured
// call, and an interposer does not intercept it.
#pragma once

#include "common/check.hpp"

#include <span>
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

/// An owned, committed datatype; messages in flight keep one that is freed.
class Datatype {
  public:
    Datatype() = default;
    /// Takes ownership of `made`, and commits it.
    explicit Datatype(MPI_Datatype made) : type_(made) { check(PMPI_Type_commit(&type_), "MPI_Type_commit"); }
    Datatype(Datatype &&other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
    Datatype &operator=(Datatype &&other) noexcept {
        std::swap(type_, other.type_);
        return *this;
    }
    ~Datatype() {
        if (type_ != MPI_DATATYPE_NULL && mpi_is_up()) {
            PMPI_Type_free(&type_);
        }
    }

    static Datatype contiguous(int count, MPI_Datatype of) {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        check(PMPI_Type_contiguous(count, of, &made), "MPI_Type_contiguous");
        return Datatype(made);
    }

    /// `of` with a gap after it: an extent of `extent_bytes`.
    static Datatype resized(MPI_Datatype of, MPI_Aint extent_bytes) {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        check(PMPI_Type_create_resized(of, 0, extent_bytes, &made), "MPI_Type_create_resized");
        return Datatype(made);
    }

    /// At each of some displacements in bytes `lengths` of `of` in a row.
    static Datatype at(std::span<int const> lengths, std::span<MPI_Aint const> places, MPI_Datatype of) {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        check(PMPI_Type_create_hindexed(int(lengths.size()), lengths.data(), places.data(), of, &made),
              "MPI_Type_create_hindexed");
        return Datatype(made);
    }

    operator MPI_Datatype() const noexcept { return type_; } // NOLINT(google-explicit-constructor): the handle

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

} // namespace weft
