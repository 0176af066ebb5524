// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace weft {

/// A failed MPI call: the call and MPI's error text. Whoever prints it names the rank.
class MpiError : public std::runtime_error {
  public:
    MpiError(int code, std::string const &call) : std::runtime_error(describe(code, call)), code_(code) {}

    int code() const noexcept { return code_; }

  private:
    static std::string describe(int code, std::string const &call) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        PMPI_Error_string(code, text, &length);
        return call + " failed: " + std::string(text, std::size_t(length));
    }

    int code_;
};

/// Throws MpiError unless `rc` is MPI_SUCCESS. `what` is the call, with its purpose if that is not obvious.
inline void check(int rc, char const *what) {
    if (rc != MPI_SUCCESS) [[unlikely]] {
        throw MpiError(rc, what);
    }
}

} // namespace weft
