// SPDX-License-Identifier: BSD-3-Clause
// One call of the application on its way through the interposer.
#pragma once

#include "call.hpp"

namespace weft::interpose {

/// Chooses an algorithm, runs it, counts it, and verifies it where it is its turn. Returns what MPI would.
template <typename Call> int intercept(Call const &call, char const *name) noexcept;

} // namespace weft::interpose
