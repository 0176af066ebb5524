// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bandwidth/message_window.hpp"
#include "cell/cell.hpp"
#include "collective/collective_data.hpp"
#include "host/memory.hpp"

#include <optional>
#include <string>

namespace weft {

/// The call that is measured: `pingpong` or `stream` between partners of the two halves of the ranks, all pairs at
/// once, `exchange`, an all-to-all whose messages all begin at once, or a collective of the library by its name.
class Victim {
  public:
    /// Collective over the cell's team.
    explicit Victim(Cell const &cell);
    static void add_need(Need &need, Cell const &cell);

    void call();
    /// Operations in one call.
    [[nodiscard]] std::int64_t operations() const;
    /// Collective: calls with known contents. Nothing if the simulator folds the buffers.
    [[nodiscard]] std::optional<Flaws> prove(bool corrupt);

  private:
    void trip();

    Team const &team_;
    std::int64_t bytes_;
    BlockPattern equal_;
    std::optional<CollectiveData> data_;
    std::optional<MessageWindow> window_; ///< of streams
    Buffer message_;                      ///< of ping-pongs
    int partner_ = -1;                    ///< the odd one out has none
};

} // namespace weft
