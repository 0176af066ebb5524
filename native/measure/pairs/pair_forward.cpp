// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_forward.hpp"

#include <algorithm>
#include <string>

namespace weft {

std::shared_ptr<PairForwards> PairForwards::make(Cell &cell) {
    std::shared_ptr<PairForwards> made(new PairForwards(cell));
    cell.once_closed([made] { made->convert(); });
    return made;
}

void PairForwards::keep(Segment &segment, int partner, std::span<Row const> pings, std::span<Answer const> answers) {
    Forward &forward = kept_.emplace_back(Forward{&segment, partner, {}});
    for (std::size_t i = 0; i < pings.size(); ++i) {
        forward.raw.push_back({pings[i].start_ns, answers[i].arrived_ns});
    }
}

/// The store requires the second number of a row to be a non-negative time, so the median is the third.
void PairForwards::convert() {
    Team const &team = cell_.team();
    Clock const &clock = cell_.sampler().clock();
    std::vector<Offset> lines(std::size_t(team.size));
    Offset const mine = clock.line();
    check(PMPI_Allgather(&mine, int(sizeof mine), MPI_BYTE, lines.data(), int(sizeof mine), MPI_BYTE, team.comm),
          "MPI_Allgather of clock lines");
    std::int64_t least_ns = 0;
    std::int64_t impossible = 0;
    for (Forward const &forward : kept_) {
        Offset const &theirs = lines[std::size_t(forward.partner)];
        std::vector<std::int64_t> took;
        for (Raw const &raw : forward.raw) {
            took.push_back(raw.arrived_ns + theirs.at(raw.arrived_ns) - clock.global(raw.sent_ns));
        }
        std::int64_t const median_ns = median(took);
        forward.segment->rows[0] = {forward.raw.front().sent_ns, std::int64_t(took.size()), median_ns};
        least_ns = std::min(least_ns, median_ns);
        impossible += median_ns < 0 ? 1 : 0;
    }
    impossible = sum_over(team.comm, impossible);
    if (impossible > 0) {
        std::int64_t const error_ns = max_over(team.comm, -least_ns);
        cell_.admit_clock_error(error_ns);
        cell_.warn(std::to_string(impossible) + " times one way are below zero, by up to " + std::to_string(error_ns) +
                   " ns: the clocks err by that much at least, and these times are left out; half a round trip needs " +
                   "no common clock");
    }
}

} // namespace weft
