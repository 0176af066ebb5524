// SPDX-License-Identifier: BSD-3-Clause
// How C and Fortran pass the same arguments: by value and by address, handles as such and as integers.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace weft::trace {

struct C {
    static int first_index() noexcept { return 0; }

    template <typename Number> static std::int64_t number(Number value) noexcept { return std::int64_t(value); }
    static MPI_Datatype type(MPI_Datatype value) noexcept { return value; }
    static MPI_Datatype type_at(MPI_Datatype const *values, int i) noexcept { return values[i]; }
    static MPI_Comm comm(MPI_Comm value) noexcept { return value; }
    static MPI_Comm comm_in(MPI_Comm const *value) noexcept { return *value; }
    static MPI_Win window(MPI_Win value) noexcept { return value; }
    static MPI_Win window_in(MPI_Win const *value) noexcept { return *value; }
    static MPI_Request request(MPI_Request const *values, int i) noexcept { return values[i]; }
    static MPI_Message message(MPI_Message const *value) noexcept { return *value; }
    static bool in_place(void const *buffer) noexcept { return buffer == MPI_IN_PLACE; }
    static bool ignored(void const *status) noexcept {
        return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE;
    }
};

struct Fortran {
    /// Of the first request in MPI_Waitany: 1, but 0 in mpi_f08 of MPICH 4.0, whose bindings forget to add it.
    static int first_index() noexcept {
        static int const first = asked_first_index();
        return first;
    }

    template <typename Number> static std::int64_t number(Number const *value) noexcept { return *value; }
    static MPI_Datatype type(MPI_Fint const *value) noexcept { return MPI_Type_f2c(*value); }
    static MPI_Datatype type_at(MPI_Fint const *values, int i) noexcept { return MPI_Type_f2c(values[i]); }
    static MPI_Comm comm(MPI_Fint const *value) noexcept { return MPI_Comm_f2c(*value); }
    static MPI_Comm comm_in(MPI_Fint const *value) noexcept { return MPI_Comm_f2c(*value); }
    static MPI_Win window(MPI_Fint const *value) noexcept { return MPI_Win_f2c(*value); }
    static MPI_Win window_in(MPI_Fint const *value) noexcept { return MPI_Win_f2c(*value); }
    static MPI_Request request(MPI_Fint const *values, int i) noexcept { return MPI_Request_f2c(values[i]); }
    static MPI_Message message(MPI_Fint const *value) noexcept { return MPI_Message_f2c(*value); }
    static bool in_place(void const *buffer) noexcept {
        static void const *const place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
        return place != nullptr && buffer == place;
    }
    /// Fortran's constants are identified by their addresses: Open MPI's, then MPICH's for mpi_f08.
    static bool ignored(void const *status) noexcept {
        static void const *const places[] = {dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_"),
                                             dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore_"),
                                             dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore"),
                                             dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore"),
                                             dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore__"),
                                             dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore__"),
                                             dlsym(RTLD_DEFAULT, "MPI_FORTRAN_STATUS_IGNORE"),
                                             dlsym(RTLD_DEFAULT, "MPI_FORTRAN_STATUSES_IGNORE"),
                                             dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUS_IGNORE_OBJ"),
                                             dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUSES_IGNORE_OBJ")};
        for (void const *const place : places) {
            if (place != nullptr && status == place) {
                return true;
            }
        }
        return false;
    }

  private:
    static int asked_first_index() noexcept {
        auto *const wait = reinterpret_cast<void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Status *, MPI_Fint *)>(
            dlsym(RTLD_NEXT, "mpi_waitany_f08_"));
        MPI_Request request = MPI_REQUEST_NULL;
        if (wait == nullptr ||
            PMPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request) != MPI_SUCCESS) {
            return 1;
        }
        MPI_Fint two = 2, index = 0, error = 0;
        MPI_Fint requests[2] = {PMPI_Request_c2f(MPI_REQUEST_NULL), PMPI_Request_c2f(request)};
        MPI_Status status;
        wait(&two, requests, &index, &status, &error);
        return int(index) - 1; // of the second
    }
};

/// Statuses of a call: the application's, or our own where it ignores them. Both languages lay them out alike, only
/// aligned differently.
template <typename Argument> class Statuses {
  public:
    Statuses(bool ignored, Argument given, std::vector<MPI_Status> &own, std::size_t count) : place_(given) {
        if (ignored) {
            own.resize(count > 0 ? count : 1);
            place_ = reinterpret_cast<Argument>(own.data());
        }
    }

    Argument argument() const noexcept { return place_; }
    MPI_Status at(int i) const noexcept {
        MPI_Status found;
        std::memcpy(&found, reinterpret_cast<char const *>(place_) + std::size_t(i) * sizeof found, sizeof found);
        return found;
    }

  private:
    Argument place_;
};

} // namespace weft::trace
