// SPDX-License-Identifier: BSD-3-Clause
// What a simulator replaces, beside segment_real.cpp, node_barrier_real.cpp and attribute_real.cpp.
#pragma once

#include "handles.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::alltoall::platform {

/// The ranks of `comm` with which this one shares memory. Collective over `comm`; ordered by `rank`.
Comm sharing_memory(MPI_Comm comm, int rank);

/// Copies a block or a part of one; a simulator charges it to the memory of the node.
void copy(std::byte *to, std::byte const *from, std::size_t bytes);

/// Whether the order of the data in memory is that of the type signature, for a type without gaps. A struct of two
/// integers at 4 and 0 has no gap, yet its bytes must not be copied as they are.
bool is_in_order(MPI_Datatype type);

/// Whether a message may have this type: it is valid, and committed. Asked for each time, since the handle of a freed
/// type is given again: 30 ns, less for predefined types. A simulator runs Weft's own programs only, and checks
/// nothing.
bool is_usable(MPI_Datatype type);

/// Whether the library refuses one buffer to send and to receive: MPICH may be built, or told, to check nothing.
bool refuses_aliases();

/// MPI_Waitsome. In a simulator one message at a time: SMPI's own polls, a tenth of a millisecond apart.
int wait_some(std::span<MPI_Request> requests, int &count, int *ended, MPI_Status *statuses);

/// Bytes of a received message.
std::int64_t received_bytes(MPI_Status &status);

} // namespace weft::alltoall::platform
