// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/team.hpp"

#include <string>

namespace weft {

/// Collective: every rank's text, one after the other; on rank 0. Throws Failure where all together have more bytes
/// than an MPI call counts.
std::string gather_texts(Team const &team, std::string const &mine);

} // namespace weft
