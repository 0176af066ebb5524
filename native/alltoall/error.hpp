// SPDX-License-Identifier: BSD-3-Clause
// An error of an all-to-all: an MPI error code for the caller's error handler, and a text.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace weft::alltoall {

class Error : public std::runtime_error {
  public:
    Error(int code, std::string const &what) : std::runtime_error(what), code_(code) {}

    int code() const noexcept { return code_; }

  private:
    int code_;
};

/// A rank found, before it sent anything, that its arguments do not fit an all-to-all: all ranks leave it to the
/// library, which says what is wrong, each to its own caller. See refusal.cpp.
struct Refused {};

inline std::string words_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    PMPI_Error_string(code, text, &length);
    return std::string(text, std::size_t(length));
}

/// Throws unless `code` is MPI_SUCCESS; `what` is the call that returned it.
inline void check(int code, char const *what) {
    if (code != MPI_SUCCESS) [[unlikely]] {
        throw Error(code, std::string(what) + " failed: " + words_of(code));
    }
}

} // namespace weft::alltoall
