// SPDX-License-Identifier: BSD-3-Clause
// Times one way by the clocks of both ends. They are kept raw, each by the clock of the rank that read it, until the
// cell is measured and its clock closed: before, nobody knows how the clocks ran between two offset measurements
// (METHOD 6). The kernel converts them and not the store: the store would need the raw arrivals of all pairs and every
// rank's line in its files, where a median is all that is kept.
#pragma once

#include "cell/cell.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft {

class PairForwards {
  public:
    /// Asks the cell to be told when its clock is closed.
    static std::shared_ptr<PairForwards> make(Cell &cell);

    /// Collective over a pair: swaps the arrivals of this rank for those of its pings at the partner.
    void keep(Segment &segment, int partner, std::span<Row const> pings, std::span<std::int64_t const> arrivals);

  private:
    explicit PairForwards(Cell &cell) : cell_(cell) {}
    void convert();

    struct Raw {
        std::int64_t sent_ns;    ///< this rank's clock
        std::int64_t arrived_ns; ///< the partner's
    };
    struct Forward {
        Segment *segment; ///< one row: when, how many, and the median in ns
        int partner;
        std::vector<Raw> raw;
    };

    Cell &cell_;
    std::vector<Forward> kept_;
};

} // namespace weft
