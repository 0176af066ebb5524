// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/platform.hpp"
#include "mpi/agree.hpp"
#include "mpi/error.hpp"
#include "mpi/team.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace weft {

/// Page-aligned bytes, first touched by the rank that owns them (METHOD 10).
class Buffer {
  public:
    Buffer() = default;

    /// Collective: allocates on every rank, or all ranks throw Refusal with status `memory`.
    static Buffer make(Team const &team, std::size_t bytes, std::string const &name) {
        auto pages = platform::Pages::map(bytes);
        std::int64_t const missing = max_over(team, pages ? 0 : std::int64_t(bytes));
        if (missing > 0) {
            throw Refusal("memory", "the system refused " + std::to_string(missing) + " bytes for the buffer `" + name +
                                        "` on at least one rank; ask for less n or m, or raise the limit (ulimit -v)");
        }
        Buffer made;
        made.pages_ = std::move(*pages);
        made.bytes_ = bytes;
        made.touch(team.rank);
        return made;
    }

    std::size_t bytes() const noexcept { return bytes_; }
    /// False in a simulator that folds large buffers: do not fill or verify it then.
    bool real() const noexcept { return pages_.real(); }
    std::byte *data() const noexcept { return pages_.data(); }

    template <class T> std::span<T> as() const noexcept {
        return {reinterpret_cast<T *>(pages_.data()), bytes_ / sizeof(T)};
    }

  private:
    // A page that was never written maps to the kernel's single zero page, which stays in the cache: sending from it
    // is 1.8 times faster. So every word is written, with values unique to this rank.
    void touch(int rank) {
        if (!real()) {
            return;
        }
        std::uint64_t word = 0x9e3779b97f4a7c15ULL * (std::uint64_t(rank) + 1);
        for (std::uint64_t &place : std::span(reinterpret_cast<std::uint64_t *>(pages_.data()), pages_.bytes() / 8)) {
            place = word;
            word += 0x9e3779b97f4a7c15ULL;
        }
    }

    platform::Pages pages_;
    std::size_t bytes_ = 0;
};

} // namespace weft
