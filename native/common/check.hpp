// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace weft {

/// A failed MPI call, or what would be one: MPI's error code and a text. Whoever prints it names the rank.
class MpiError : public std::runtime_error {
  public:
    MpiError(int code, std::string const &what) : std::runtime_error(what), code_(code) {}

    int code() const noexcept { return code_; }

  private:
    int code_;
};

/// The call, with its purpose if that is not obvious, and MPI's words for its code.
inline std::string words_of(int code, std::string const &call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    PMPI_Error_string(code, text, &length);
    return call + " failed: " + std::string(text, std::size_t(length));
}

/// Throws MpiError unless `code` is MPI_SUCCESS; `call` as in `words_of`.
inline void check(int code, char const *call) {
    if (code != MPI_SUCCESS) [[unlikely]] {
        throw MpiError(code, words_of(code, call));
    }
}

} // namespace weft
