// SPDX-License-Identifier: BSD-3-Clause
// The batch of each operation is the same in all launches of a cell (METHOD 7): the first launch that measures it
// decides, the others read what it wrote. The kernels do this by themselves, through a file beside the cell's records,
// because a job script starts its launches one after the other with nobody between them who could plan anew.
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
    /// Calls of a sample of this operation, where an earlier launch has decided.
    [[nodiscard]] std::optional<std::int64_t> of(std::string_view op) const;
    /// This launch decides. What an earlier one decided stays.
    void decide(std::string_view op, std::int64_t calls);
    /// Was anything decided by this launch?
    [[nodiscard]] bool is_new() const noexcept { return new_; }

    /// The text of its file; `owner` is one line that says whose it is: the run, and the cell's parameters.
    [[nodiscard]] std::string text(std::string_view owner) const;
    /// Reads such a text; an empty book where it is none, or somebody else's.
    static BatchBook parse(std::string_view text, std::string_view owner);

  private:
    std::map<std::string, std::int64_t, std::less<>> calls_;
    bool new_ = false;
};

} // namespace weft
