// SPDX-License-Identifier: BSD-3-Clause
// One-way times from the clocks of both ends. They are kept raw, on the clock of the rank that read them, until the
// cell's clock is closed: before that the drift between two offset measurements is unknown (METHOD 6). The kernel
// converts them, not the store, which would need the raw arrivals of all pairs and the clock line of every rank, where
// only a median is kept.
#pragma once

#include "cell/cell.hpp"
#include "pairs/ping_pong.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft {

class PairForwards {
  public:
    /// Registers with the cell for the closing of its clock.
    static std::shared_ptr<PairForwards> make(Cell &cell);

    /// This rank's pings, and their answers at the partner.
    void keep(Segment &segment, int partner, std::span<Row const> pings, std::span<Answer const> answers);

  private:
    explicit PairForwards(Cell &cell) : cell_(cell) {}
    void convert();

    struct Raw {
        std::int64_t sent_ns;    ///< this rank's clock
        std::int64_t arrived_ns; ///< the partner's
    };
    struct Forward {
        Segment *segment; ///< one row: start, number, and the median in ns
        int partner;
        std::vector<Raw> raw;
    };

    Cell &cell_;
    std::vector<Forward> kept_;
};

} // namespace weft
