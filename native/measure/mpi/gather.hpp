// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/team.hpp"

#include <string>

namespace weft {

/// Collective: the concatenated texts of all ranks, on rank 0. Throws Failure if their total size exceeds the count of
/// an MPI call.
std::string gather_texts(Team const &team, std::string const &mine);

} // namespace weft
