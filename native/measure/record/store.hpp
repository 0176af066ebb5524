// SPDX-License-Identifier: BSD-3-Clause
// The samples of a cell as one .npy file: little-endian int64 of shape (ranks, samples, 3), a slab a rank.
#pragma once

#include "mpi/team.hpp"
#include "sample/recorder.hpp"
#include "time/clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The header of such a file, a multiple of 64 bytes long.
std::string npy_header(std::int64_t ranks, std::int64_t samples);

/// This rank's rows, one segment after the other, with their start on the launch's time.
std::vector<Row> slab_of(Recorder const &recorder, Clock const &clock, std::int64_t epoch_ns);

/// Collective: writes `slab` (as long on every rank) to `path`. Returns the CRC-32 of each rank's slab, on rank 0.
/// The file appears when all of it is on the disk and was read back; otherwise all ranks throw Failure and nothing
/// is left. `posix`: rank 0 gathers and writes, for file systems without MPI-IO.
std::vector<std::uint32_t> write_slabs(Team const &team, std::vector<Row> const &slab, std::string const &path,
                                       bool posix);

} // namespace weft
