// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_turns.hpp"

#include "mpi/error.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace weft {

namespace {

constexpr int turn_tag = 12;

bool is_in(Pair const &pair, int rank) {
    return pair.low == rank || pair.high == rank;
}

} // namespace

PairMode pair_mode_named(std::string_view name) {
    if (name == "isolated") {
        return PairMode::isolated;
    }
    if (name == "node") {
        return PairMode::node;
    }
    if (name == "all") {
        return PairMode::all;
    }
    throw Failure("unknown concurrency `" + std::string(name) + "`", "use isolated, node or all", true);
}

char const *name(PairMode mode) noexcept {
    switch (mode) {
    case PairMode::isolated:
        return "isolated";
    case PairMode::node:
        return "node";
    case PairMode::all:
        break;
    }
    return "all";
}

PairRound make_round(Team const &team, int number, std::vector<Pair> pairs) {
    PairRound round{number, std::move(pairs), -1, {}};
    std::vector<std::vector<bool>> busy; // of each group: its nodes
    for (Pair const &pair : round.pairs) {
        if (is_in(pair, team.rank)) {
            round.partner = pair.low == team.rank ? pair.high : pair.low;
        }
        auto const a = std::size_t(team.node_of[std::size_t(pair.low)]);
        auto const b = std::size_t(team.node_of[std::size_t(pair.high)]);
        std::size_t group = 0;
        while (group < busy.size() && (busy[group][a] || busy[group][b])) {
            ++group;
        }
        if (group == busy.size()) {
            busy.emplace_back(std::size_t(team.nodes), false);
            round.once.emplace_back();
        }
        busy[group][a] = busy[group][b] = true;
        round.once[group].push_back(pair);
    }
    return round;
}

void PairTurns::take(PairMode mode, PairRound const &round, Work const &work, Company const &company) {
    switch (mode) {
    case PairMode::isolated:
        return one_by_one(round.pairs, [&](int, int partner) { work(partner); });
    case PairMode::node:
        return one_a_node(round, work, company);
    case PairMode::all:
        break;
    }
    together(round, work, company);
}

/// A barrier along a binomial tree: a fifth of the messages of the usual one.
void PairTurns::wait_along_tree() const {
    char token = 0;
    int const rank = team_.rank;
    int const most = rank == 0 ? int(std::bit_ceil(unsigned(team_.size))) : rank & -rank; // below it are its own ranks
    auto const receive = [&](int from) {
        check(PMPI_Recv(&token, 1, MPI_CHAR, from, turn_tag, start_.comm(), MPI_STATUS_IGNORE), "MPI_Recv of a round");
    };
    auto const send = [&](int to) {
        check(PMPI_Send(&token, 1, MPI_CHAR, to, turn_tag, start_.comm()), "MPI_Send of a round");
    };
    for (int step = 1; step < most && rank + step < team_.size; step *= 2) {
        receive(rank + step);
    }
    if (rank > 0) {
        send(rank - most);
        receive(rank - most);
    }
    for (int step = most / 2; step > 0; step /= 2) {
        if (rank + step < team_.size) {
            send(rank + step);
        }
    }
}

void PairTurns::together(PairRound const &round, Work const &work, Company const &company) {
    if (apart_ && platform::one_clock()) {
        wait_along_tree();
    } else {
        start_.wait();
    }
    if (round.partner >= 0) {
        work(round.partner);
    }
    if (company && round.partner >= 0) {
        stay(round.partner, company);
    } else if (company) {
        rest();
    }
}

/// Sends background traffic until all ranks have come here or to rest(): both enter the same barrier.
void PairTurns::stay(int partner, Company const &company) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Ibarrier(team_.comm, &request), "MPI_Ibarrier of a round");
    company(partner, [&request] {
        int done = 0;
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test of a round");
        return done != 0;
    });
    check(PMPI_Wait(&request, MPI_STATUS_IGNORE),
          "MPI_Wait of a round"); // returns at once: the partner has seen the end
}

void PairTurns::one_a_node(PairRound const &round, Work const &work, Company const &company) {
    for (std::vector<Pair> const &group : round.once) {
        start_.wait(); // all are awake now, so the pairs of the group start together
        bool const mine =
            std::any_of(group.begin(), group.end(), [&](Pair const &pair) { return is_in(pair, team_.rank); });
        if (mine) {
            work(round.partner);
        }
        if (mine && company) {
            stay(round.partner, company);
        } else {
            rest();
        }
    }
}

void PairTurns::one_by_one(std::span<Pair const> turns, std::function<void(int turn, int partner)> const &work) {
    start_.wait(); // no rank measures before all others sleep
    bool const simulated = platform::one_clock();
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
        Pair const &pair = turns[turn];
        if (is_in(pair, team_.rank)) {
            if (simulated) {
                take_token(turns, turn);
            }
            work(int(turn), pair.low == team_.rank ? pair.high : pair.low);
            if (simulated) {
                pass_token(turns, turn);
            }
        }
        if (!simulated) {
            rest();
        }
    }
    if (simulated) {
        rest();
    }
}

// A message from pair to pair is cheaper than a barrier at each turn, and in a simulator barriers dominate the cost. On
// a real machine such messages would be the first contact of pairs that are not yet measured; a barrier only uses
// connections that the start barrier has already opened.
void PairTurns::take_token(std::span<Pair const> turns, std::size_t turn) const {
    if (turn > 0 && turns[turn - 1].high != team_.rank) {
        char token = 0;
        check(PMPI_Recv(&token, 1, MPI_CHAR, turns[turn - 1].high, turn_tag, team_.comm, MPI_STATUS_IGNORE),
              "MPI_Recv of a turn");
    }
}

void PairTurns::pass_token(std::span<Pair const> turns, std::size_t turn) const {
    if (turns[turn].high != team_.rank || turn + 1 == turns.size()) {
        return;
    }
    char const token = 1;
    for (int const rank : {turns[turn + 1].low, turns[turn + 1].high}) {
        if (rank != team_.rank) {
            check(PMPI_Send(&token, 1, MPI_CHAR, rank, turn_tag, team_.comm), "MPI_Send of a turn");
        }
    }
}

/// Waits until all ranks have come here, with increasing sleep times in proportion to the time already waited.
void PairTurns::rest() {
    if (!sleep_) {
        start_.wait();
        return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Ibarrier(team_.comm, &request), "MPI_Ibarrier after a turn");
    if (platform::one_clock()) { // in a simulator waiting is free, and polling is not
        check(PMPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait after a turn");
        return;
    }
    constexpr std::int64_t shortest_ns = 10'000;
    constexpr std::int64_t longest_ns = 500'000;
    std::int64_t const began = platform::now_ns();
    int done = 0;
    while (true) {
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test after a turn");
        if (done != 0) {
            return;
        }
        platform::sleep_ns(std::clamp((platform::now_ns() - began) / 4, shortest_ns, longest_ns));
    }
}

} // namespace weft
