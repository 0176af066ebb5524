// SPDX-License-Identifier: BSD-3-Clause
// Repetition of a call with the MPI library, and comparison of the received data: WEFT_VERIFY.
#pragma once

#include "side.hpp"
#include "state.hpp"

#include <optional>
#include <string>

namespace weft::interpose {

class Verification {
  public:
    /// Before the call: keeps a packed copy of the data to send, which MPI_IN_PLACE overwrites.
    Verification(alltoall::Exchange const &exchange, alltoall::State &state);

    /// After the call: "" if all bytes equal the library's, else a description of the difference. Collective.
    std::string compare();
    /// The library's time in seconds.
    double library_seconds() const noexcept { return library_seconds_; }
    /// False, on all ranks, if the blocks are too large for one call of MPI_Alltoallv.
    bool possible() const noexcept { return possible_; }

  private:
    alltoall::Exchange const &exchange_;
    alltoall::State &state_;
    bool possible_;
    std::optional<alltoall::PackedCopy> sent_;
    double library_seconds_ = 0;
};

} // namespace weft::interpose
