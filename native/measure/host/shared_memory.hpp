// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft {

/// Appends the names of this rank's files below /dev/shm to `shared` in the launch's session directory (a TMPDIR named
/// weft-*), if there is one: if all processes are killed, the owner of the files would not be known otherwise. Call
/// after MPI_Init.
void note_shared_memory();

} // namespace weft
