// SPDX-License-Identifier: BSD-3-Clause
// A measured all-to-all: the MPI library's own, or one of native/alltoall by its spec ("node.multi{nl=4}").
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

class OwnAllToAll;

class AllToAll {
  public:
    /// The library's own, by the public MPI_ names.
    AllToAll() = default;
    /// An algorithm of native/alltoall; empty, `default` or `pmpi` for the library's own. Throws Failure for a wrong
    /// spec.
    explicit AllToAll(std::string_view spec);
    /// As libweft.so chooses by a selection table, call by call: the first call is the library's own. Throws Failure
    /// for a file that is none.
    static AllToAll by_table(std::string const &path);

    /// Calls of another size follow: by a table, the ranks agree on it at the next one.
    void begin_size() noexcept { calls_ = 1; }

    /// Calls to make before those of a size are measured: until the ranks know that its counts repeat.
    int calls_to_learn() const noexcept;

    /// As MPI_Alltoall and MPI_Alltoallv; throw MpiError.
    void alltoall(void const *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) const;
    void alltoallv(void const *send, int const *send_counts, int const *send_places, MPI_Datatype send_type,
                   void *receive, int const *receive_counts, int const *receive_places, MPI_Datatype receive_type,
                   MPI_Comm comm) const;
    /// As MPI_Alltoall_c and MPI_Alltoallv_c. The library's own need MPI 4: throw std::logic_error without.
    void alltoall(void const *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                  MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) const;
    void alltoallv(void const *send, MPI_Count const *send_counts, MPI_Aint const *send_places, MPI_Datatype send_type,
                   void *receive, MPI_Count const *receive_counts, MPI_Aint const *receive_places,
                   MPI_Datatype receive_type, MPI_Comm comm) const;

    /// The algorithm of native/alltoall that ran in the last call since `forget`, such as "node.multi", or "pmpi" after
    /// a fall-back; empty if the library's own was called. One a process: all ranks of a simulation run the same.
    static std::string const &ran() noexcept;
    static void forget() noexcept;

  private:
    /// Makes a call by an algorithm of native/alltoall; false if the library's own is to be called, by its public name.
    template <class Call> bool perform(Call const &call) const;

    std::shared_ptr<OwnAllToAll const> own_; // null: the library's own
    mutable std::int64_t calls_ = 0;         // by a table
};

} // namespace weft
