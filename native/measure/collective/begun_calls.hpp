// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent forms of the collectives that the kernel `collective` measures.
#pragma once

#include "collective/collective_calls.hpp"

#include <string_view>

namespace weft {

/// MPI_Ibcast, MPI_Ialltoall ... Throws MpiError, and std::out_of_range for a name that is none.
void begin_call(std::string_view name, CallArguments const &arguments, MPI_Request *request);
/// MPI_Bcast_init, MPI_Alltoall_init ...; false before MPI 4. Collective.
[[nodiscard]] bool make_persistent(std::string_view name, CallArguments const &arguments, MPI_Request *request);

} // namespace weft
