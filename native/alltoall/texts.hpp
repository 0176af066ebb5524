// SPDX-License-Identifier: BSD-3-Clause
// Texts from users: shown in messages, read from files, and the same on all ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::alltoall {

/// A text in quotes for a message: at most 80 bytes of it, and "?" for what does not print.
std::string shown(std::string_view text);

/// The bytes of a file, of `most` at most.
///
/// Throws Error (MPI_ERR_FILE) if it cannot be read, is no file, or is larger; `what` is its role.
std::string file_text(std::string const &path, std::string const &what, std::int64_t most);

/// Collective. Rank 0's text, of less than 2 GiB, on all ranks.
std::string broadcast(std::string text, MPI_Comm comm);

/// Collective. The bytes of a file that only rank 0 reads, on all ranks. Throws on all what `file_text` throws on rank
/// 0.
std::string broadcast_file(std::string const &path, std::string const &what, std::int64_t most, MPI_Comm comm);

} // namespace weft::alltoall
