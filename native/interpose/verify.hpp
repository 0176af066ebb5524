// SPDX-License-Identifier: BSD-3-Clause
// Repeating a call by the MPI library and comparing what came: WEFT_VERIFY.
#pragma once

#include "side.hpp"
#include "state.hpp"

#include <optional>
#include <string>

namespace weft::interpose {

class Verification {
  public:
    /// Before the call: keeps what is sent, packed, since MPI_IN_PLACE overwrites it.
    Verification(alltoall::Exchange const &exchange, alltoall::State &state);

    /// After the call: "" where all bytes are the library's, else what differs. Collective.
    std::string compare();
    /// What the library took, in seconds.
    double library_seconds() const noexcept { return library_seconds_; }
    /// False, on all ranks, where the blocks are too large for one call of MPI_Alltoallv.
    bool possible() const noexcept { return possible_; }

  private:
    alltoall::Exchange const &exchange_;
    alltoall::State &state_;
    bool possible_;
    std::optional<alltoall::PackedCopy> sent_;
    double library_seconds_ = 0;
};

} // namespace weft::interpose
