// SPDX-License-Identifier: BSD-3-Clause
// The batch of each operation is the same in all launches of a cell (METHOD 7): the first launch that measures it
// decides, the others read its choice. The kernels use a file beside the cell's records for this, because a job script
// starts its launches one after another without a chance to change the plan in between.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

class BatchBook {
  public:
    /// Calls per sample of this operation, if an earlier launch has decided.
    [[nodiscard]] std::optional<std::int64_t> of(std::string_view op) const;
    /// Records this launch's choice; that of an earlier launch takes precedence.
    void decide(std::string_view op, std::int64_t calls);
    /// Whether this launch decided anything.
    [[nodiscard]] bool is_new() const noexcept { return new_; }

    /// The text of its file; `owner` is a line that identifies the run and the cell's parameters.
    [[nodiscard]] std::string text(std::string_view owner) const;
    /// Parses such a text; an empty book if it is malformed or has another owner.
    static BatchBook parse(std::string_view text, std::string_view owner);

  private:
    std::map<std::string, std::int64_t, std::less<>> calls_;
    bool new_ = false;
};

} // namespace weft
