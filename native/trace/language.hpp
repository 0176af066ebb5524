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
    static constexpr int first_index = 0;

    template <typename Number> static std::int64_t number(Number value) noexcept { return std::int64_t(value); }
    static MPI_Datatype type(MPI_Datatype value) noexcept { return value; }
    static MPI_Datatype type_at(MPI_Datatype const *values, int i) noexcept { return values[i]; }
    static MPI_Comm comm(MPI_Comm value) noexcept { return value; }
    static MPI_Comm comm_in(MPI_Comm const *value) noexcept { return *value; }
    static MPI_Win window(MPI_Win value) noexcept { return value; }
    static MPI_Win window_in(MPI_Win const *value) noexcept { return *value; }
    static MPI_Request request(MPI_Request const *values, int i) noexcept { return values[i]; }
    static bool in_place(void const *buffer) noexcept { return buffer == MPI_IN_PLACE; }
    static bool ignored(void const *status) noexcept {
        return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE;
    }
};

struct Fortran {
    static constexpr int first_index = 1;

    template <typename Number> static std::int64_t number(Number const *value) noexcept { return *value; }
    static MPI_Datatype type(MPI_Fint const *value) noexcept { return MPI_Type_f2c(*value); }
    static MPI_Datatype type_at(MPI_Fint const *values, int i) noexcept { return MPI_Type_f2c(values[i]); }
    static MPI_Comm comm(MPI_Fint const *value) noexcept { return MPI_Comm_f2c(*value); }
    static MPI_Comm comm_in(MPI_Fint const *value) noexcept { return MPI_Comm_f2c(*value); }
    static MPI_Win window(MPI_Fint const *value) noexcept { return MPI_Win_f2c(*value); }
    static MPI_Win window_in(MPI_Fint const *value) noexcept { return MPI_Win_f2c(*value); }
    static MPI_Request request(MPI_Fint const *values, int i) noexcept { return MPI_Request_f2c(values[i]); }
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
