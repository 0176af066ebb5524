// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of a node share.
#pragma once

#include "handles.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::alltoall {

/// A POSIX shared memory segment, mapped by all ranks of `node`. The constructor removes its name.
class Segment {
  public:
    Segment() = default;
    /// Collective over `node`. Does not throw if memory is short: then `ready()` is false, on some ranks or all, and
    /// the caller must reduce it over the ranks.
    Segment(MPI_Comm node, std::int64_t bytes);
    Segment(Segment &&other) noexcept;
    Segment &operator=(Segment &&other) noexcept;
    ~Segment();

    bool ready() const noexcept { return base_ != nullptr; }
    std::byte *base() const noexcept { return base_; }
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    std::byte *base_ = nullptr;
    std::int64_t bytes_ = 0;
};

} // namespace weft::alltoall
