// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft {

/// Appends the names of this rank's files below /dev/shm to `shared` in the launch's session directory (a TMPDIR named
/// weft-*), where there is one: were everything killed, nobody else could tell whose they are. After MPI_Init.
void note_shared_memory();

} // namespace weft
