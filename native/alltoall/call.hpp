// SPDX-License-Identifier: BSD-3-Clause
// The arguments of an MPI_Alltoall(v), in any of MPI's integer widths.
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
    /// Makes the call with the MPI library's own algorithm. Throws Error if the library cannot take these counts.
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

/// Whether a call has a count for each rank.
template <typename Call> inline constexpr bool has_counts = true;
template <typename Count> inline constexpr bool has_counts<AlltoallCall<Count>> = false;

/// Whether the library refuses an intracommunicator's call for the arguments of this rank, before it sends anything:
/// leave it to the library, on this rank alone. An algorithm would write through them, or wait for other ranks.
template <typename Call> bool is_refused(Call const &call, int ranks);

/// Outcome of a call.
struct Outcome {
    int code; // MPI_SUCCESS, or the code passed to the communicator's error handler
    Kind ran; // another than asked for after a fallback
};

/// Makes a call with the algorithm of `spec`. Errors are raised on the call's communicator.
template <typename Call> Outcome perform(Call const &call, Spec const &spec) noexcept;

/// Raises an error through the error handler of a communicator; returns the code.
int raise(MPI_Comm comm, int code, std::string const &what) noexcept;

/// Text of the last error on this thread.
std::string &last_error() noexcept;

/// The algorithm that the last call on this thread ran.
Kind &last_ran() noexcept;

} // namespace weft::alltoall
