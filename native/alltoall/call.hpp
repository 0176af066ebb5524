// SPDX-License-Identifier: BSD-3-Clause
// An MPI_Alltoall(v) as its caller wrote it, in any of the integer widths that MPI has.
#pragma once

#include "side.hpp"
#include "spec.hpp"

#include <string>

namespace weft::alltoall {

/// Arguments of MPI_Alltoall with counts of type Count.
template <typename Count> struct AlltoallCall {
    void const *send_buffer;
    Count send_count;
    MPI_Datatype send_type;
    void *receive_buffer;
    Count receive_count;
    MPI_Datatype receive_type;
    MPI_Comm comm;

    Exchange exchange(int ranks) const;
    /// By the MPI library's own. Throws Error where it cannot take such counts.
    int by_library() const;
};

/// Arguments of MPI_Alltoallv.
template <typename Count, typename Displacement> struct AlltoallvCall {
    void const *send_buffer;
    Count const *send_counts;
    Displacement const *send_displacements;
    MPI_Datatype send_type;
    void *receive_buffer;
    Count const *receive_counts;
    Displacement const *receive_displacements;
    MPI_Datatype receive_type;
    MPI_Comm comm;

    Exchange exchange(int ranks) const;
    int by_library() const;
};

/// How a call went.
struct Outcome {
    int code; // MPI_SUCCESS, or what the communicator's error handler was given
    Kind ran; // pmpi after a fallback
};

/// Does a call by the algorithm of `spec`. Errors are raised on the call's communicator.
template <typename Call> Outcome perform(Call const &call, Spec const &spec) noexcept;

/// Raises an error on a communicator by its error handler; returns the code.
int raise(MPI_Comm comm, int code, std::string const &what) noexcept;

/// What the last error on this thread said.
std::string &last_error() noexcept;

/// What the last call on this thread ran.
Kind &last_ran() noexcept;

} // namespace weft::alltoall
