// SPDX-License-Identifier: BSD-3-Clause
// Running one all-to-all.
#pragma once

#include "side.hpp"
#include "spec.hpp"
#include "state.hpp"

#include <functional>

namespace weft::alltoall {

/// Runs `exchange` with the algorithm of `spec`; collective over the state's communicator.
///
/// Returns false, on all ranks and without any effect, if the algorithm is not applicable and the MPI
/// library must run: one rank or one node, no shared memory on some node, a file of rounds for another number of ranks.
/// All ranks decide on the same information. Throws Error after an error of MPI, or a call whose counts do not match.
bool run(Spec const &spec, Exchange const &exchange, State &state);

// One algorithm per file. Each returns the same as `run`.
bool flat_window(Spec const &spec, Exchange const &exchange, State &state);
bool flat_pairwise(Spec const &spec, Exchange const &exchange, State &state);
bool bruck(Spec const &spec, Exchange const &exchange, State &state);
bool node_multi(Spec const &spec, Exchange const &exchange, State &state);
bool node_direct(Spec const &spec, Exchange const &exchange, State &state);
bool node_bruck(Spec const &spec, Exchange const &exchange, State &state);
bool sched(Spec const &spec, Exchange const &exchange, State &state);

} // namespace weft::alltoall
