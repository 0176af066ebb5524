// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_exchange.hpp"

namespace weft {

std::int64_t take_series(Team const &team, PairTurns &turns, PairRound const &round, PingPong const &ping,
                         PairSeries const &series) {
    bool const simulated = platform::one_clock();
    std::int64_t last = 0;
    PairTurns::Company company;
    if (series.met && !simulated) {
        company = [&](int partner, std::function<bool()> const &over) {
            last = ping.accompany(partner, team.rank < partner, over);
        };
    }
    auto const work = [&](int partner) {
        bool const low = team.rank < partner;
        if (series.met && !simulated) {
            ping.wake(partner, low); // a rank that slept takes time to wake
        }
        for (bool const initiates : {low, !low}) {
            if (simulated) {
                ping.meet(partner, initiates);
            }
            if (initiates) {
                ping.initiate(partner, series.trips, series.rows);
            } else {
                ping.respond(partner, series.trips, series.arrivals);
            }
        }
    };
    turns.take(series.mode, round, work, company);
    return last;
}

} // namespace weft
