// SPDX-License-Identifier: BSD-3-Clause
// Interception of one call of the application.
#pragma once

#include "call.hpp"

namespace weft::interpose {

/// Chooses an algorithm, runs it, counts the call, and verifies it if it is its turn. Returns what the MPI call would
/// return.
template <typename Call> int intercept(Call const &call, char const *name) noexcept;

} // namespace weft::interpose
