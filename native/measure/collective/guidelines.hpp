// SPDX-License-Identifier: BSD-3-Clause
// What performance guidelines hold a collective against, measured in turns with it. Plan key of a cell: `guidelines`,
//   larger   the call at twice the size
//   split    two calls of half the size each
//   fewer    the call on the first half of the ranks, which on all of them may not be faster
//   others   a mock-up (mock_ups.hpp)
//   within_ns  what one size may take with all that it is held against; where three rounds of calls would take longer,
//              the size is left out, but for the smallest (0: none is)
// The operations are named after the call and the word: "bcast@1024:split".
#pragma once

#include "cell/cell.hpp"
#include "collective/collective_data.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

class Guidelines {
  public:
    /// Collective. Throws Failure for an unknown word. `data` is of the call itself, and outlives it.
    Guidelines(Cell const &cell, CollectiveForm const &form, std::int64_t most_bytes, CollectiveData &data);

    static bool any(Cell const &cell) { return cell.has("guidelines"); }
    static void add_need(Need &need, Cell const &cell, CollectiveForm const &form, std::int64_t most_bytes,
                         std::int64_t sizes);

    /// Collective: whether a size is left out: by its first call, or where that is too long, by the median of some
    /// more.
    [[nodiscard]] bool is_too_long(Cell const &cell, std::string const &op, std::int64_t bytes);
    /// Collective: warm samples of `call`, whose data have this block size, and of all else in turns.
    void measure(Sampler &sampler, std::string const &op, std::int64_t bytes, std::function<void()> const &call,
                 How how);
    std::vector<MockUp const *> const &mock_ups() const noexcept { return mock_ups_; }

  private:
    CollectiveData &data_;
    std::int64_t unit_;
    std::vector<MockUp const *> mock_ups_;
    Team half_team_; ///< of the first half of the ranks; on others empty
    std::unique_ptr<CollectiveData> larger_;
    std::unique_ptr<CollectiveData> split_;
    std::unique_ptr<CollectiveData> fewer_; ///< null on ranks of the second half
    bool on_fewer_ = false;
};

} // namespace weft
