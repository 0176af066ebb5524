// SPDX-License-Identifier: BSD-3-Clause
// Texts from users: shown in messages, and read from files.
#pragma once

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

} // namespace weft::alltoall
