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
        if (ping.moves_both_ways()) {
            return ping.exchange(partner, series.trips, series.rows, series.answers, series.met || simulated);
        }
        for (bool const initiates : {low, !low}) {
            if (simulated || initiates != low) {
                ping.meet(partner, initiates); // the last message of the series before has left the wire
            }
            if (initiates) {
                ping.initiate(partner, series.trips, series.rows);
            } else {
                ping.respond(partner, series.trips, series.answers);
            }
        }
    };
    turns.take(series.mode, round, work, company);
    return last;
}

std::vector<Answer> swap_answers(Team const &team, int partner, std::span<Answer const> mine, std::span<Row> rows) {
    if (partner < 0) {
        return {};
    }
    constexpr int tag = 13;
    static_assert(sizeof(Answer) == 2 * sizeof(std::int64_t));
    int const count = 2 * int(mine.size());
    std::vector<Answer> theirs(mine.size());
    check(PMPI_Sendrecv(mine.data(), count, MPI_INT64_T, partner, tag, theirs.data(), count, MPI_INT64_T, partner, tag,
                        team.comm, MPI_STATUS_IGNORE),
          "MPI_Sendrecv of answers");
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        rows[i].lost = both_losses(rows[i].lost, theirs[i].lost);
    }
    return theirs;
}

} // namespace weft
