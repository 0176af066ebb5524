// SPDX-License-Identifier: BSD-3-Clause
// The samples of a cell as one .npy file: little-endian int64 of shape (ranks, samples, 3), one slab per rank.
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

/// This rank's rows, one segment after another, with start times relative to the launch.
std::vector<Row> slab_of(Recorder const &recorder, Clock const &clock, std::int64_t epoch_ns);

/// Collective: writes `slab` (of the same length on every rank) to `path`. Returns the CRC-32 of each rank's slab, on
/// rank 0. The file appears when it is complete on disk and was read back; otherwise all ranks throw Failure and no
/// file is left. `posix`: rank 0 gathers and writes, for file systems without MPI-IO.
std::vector<std::uint32_t> write_slabs(Team const &team, std::vector<Row> const &slab, std::string const &path,
                                       bool posix);

} // namespace weft
