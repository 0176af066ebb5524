// SPDX-License-Identifier: BSD-3-Clause
// Running one all-to-all.
#pragma once

#include "side.hpp"
#include "spec.hpp"
#include "state.hpp"

#include <functional>

namespace weft::alltoall {

/// Runs it by the algorithm of `spec`; collective over the state's communicator.
///
/// Returns false, on all ranks and having done nothing, where the algorithm cannot serve and the MPI library must: one
/// rank or one node, no shared memory on some node, a file of rounds for another number of ranks. That is decided on
/// what all ranks know. Throws Error after an error of MPI, or a call whose counts do not match.
bool run(Spec const &spec, Exchange const &exchange, State &state);

// One algorithm a file. Each returns as `run` does.
bool flat_window(Spec const &spec, Exchange const &exchange, State &state);
bool flat_pairwise(Spec const &spec, Exchange const &exchange, State &state);
bool bruck(Spec const &spec, Exchange const &exchange, State &state);
bool node_multi(Spec const &spec, Exchange const &exchange, State &state);
bool node_direct(Spec const &spec, Exchange const &exchange, State &state);
bool node_bruck(Spec const &spec, Exchange const &exchange, State &state);
bool sched(Spec const &spec, Exchange const &exchange, State &state);

} // namespace weft::alltoall
