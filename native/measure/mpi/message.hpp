// SPDX-License-Identifier: BSD-3-Clause
// One message of any number of bytes: where an int does not hold them, by the calls of MPI 4 (METHOD 24). Measured
// calls, so they have the public MPI_ names; `message_refusal` is asked before.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <string>

namespace weft {

/// The reason why an MPI of this version cannot count a message of `bytes` bytes; empty if it can.
inline std::string message_refusal(std::int64_t bytes, int mpi_version = MPI_VERSION) {
    if (mpi_version >= 4 || bytes <= INT_MAX) {
        return "";
    }
    return "a message of " + std::to_string(bytes) +
           " bytes is more than an MPI-3 call counts: take sizes below 2 GiB, or an MPI 4 library";
}

inline int send_bytes(std::byte const *from, std::int64_t bytes, int to, int tag, MPI_Comm comm) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) [[unlikely]] {
        return MPI_Send_c(from, MPI_Count(bytes), MPI_BYTE, to, tag, comm);
    }
#endif
    return MPI_Send(from, int(bytes), MPI_BYTE, to, tag, comm);
}

inline int receive_bytes(std::byte *into, std::int64_t bytes, int from, int tag, MPI_Comm comm, MPI_Status *status) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) [[unlikely]] {
        return MPI_Recv_c(into, MPI_Count(bytes), MPI_BYTE, from, tag, comm, status);
    }
#endif
    return MPI_Recv(into, int(bytes), MPI_BYTE, from, tag, comm, status);
}

inline int start_sending(std::byte const *from, std::int64_t bytes, int to, int tag, MPI_Comm comm,
                         MPI_Request *request) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) [[unlikely]] {
        return MPI_Isend_c(from, MPI_Count(bytes), MPI_BYTE, to, tag, comm, request);
    }
#endif
    return MPI_Isend(from, int(bytes), MPI_BYTE, to, tag, comm, request);
}

/// Ends only once its receiver has met it.
inline int start_sending_together(std::byte const *from, std::int64_t bytes, int to, int tag, MPI_Comm comm,
                                  MPI_Request *request) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) [[unlikely]] {
        return MPI_Issend_c(from, MPI_Count(bytes), MPI_BYTE, to, tag, comm, request);
    }
#endif
    return MPI_Issend(from, int(bytes), MPI_BYTE, to, tag, comm, request);
}

inline int start_receiving(std::byte *into, std::int64_t bytes, int from, int tag, MPI_Comm comm,
                           MPI_Request *request) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) [[unlikely]] {
        return MPI_Irecv_c(into, MPI_Count(bytes), MPI_BYTE, from, tag, comm, request);
    }
#endif
    return MPI_Irecv(into, int(bytes), MPI_BYTE, from, tag, comm, request);
}

/// As many bytes both ways, not measured: the traffic of a proof.
inline int swap_bytes(std::byte const *from, std::byte *into, std::int64_t bytes, int partner, int tag, MPI_Comm comm) {
#if MPI_VERSION >= 4
    if (bytes > INT_MAX) {
        return PMPI_Sendrecv_c(from, MPI_Count(bytes), MPI_BYTE, partner, tag, into, MPI_Count(bytes), MPI_BYTE,
                               partner, tag, comm, MPI_STATUS_IGNORE);
    }
#endif
    return PMPI_Sendrecv(from, int(bytes), MPI_BYTE, partner, tag, into, int(bytes), MPI_BYTE, partner, tag, comm,
                         MPI_STATUS_IGNORE);
}

} // namespace weft
