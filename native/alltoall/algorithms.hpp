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
/// Returns the algorithm that ran, which is another where that of `spec` does not suit the call. Kind::pmpi, on all
/// ranks and without any effect, if none is applicable and the MPI library must run: one rank or one node, no shared
/// memory on some node, a file of rounds for another number of ranks. All ranks decide on the same information. Throws
/// Error after an error of MPI, or a call whose counts do not match.
Kind run(Spec const &spec, Exchange const &exchange, State &state);

// One algorithm per file. Each returns the same as `run`.
Kind flat_window(Spec const &spec, Exchange const &exchange, State &state);
Kind flat_pairwise(Spec const &spec, Exchange const &exchange, State &state);
Kind bruck(Spec const &spec, Exchange const &exchange, State &state);
Kind node_multi(Spec const &spec, Exchange const &exchange, State &state);
Kind node_direct(Spec const &spec, Exchange const &exchange, State &state);
Kind node_bruck(Spec const &spec, Exchange const &exchange, State &state);
Kind sched_matrix(Spec const &spec, Exchange const &exchange, State &state);
Kind sched(Spec const &spec, Exchange const &exchange, State &state);

} // namespace weft::alltoall
