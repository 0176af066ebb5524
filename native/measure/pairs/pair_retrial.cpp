// SPDX-License-Identifier: BSD-3-Clause
#include "pairs/pair_retrial.hpp"

#include "pairs/pair_exchange.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

namespace weft {

namespace {

constexpr double slow_factor = 1.5;
constexpr std::size_t most_suspects = 64; // per block; the slowest ones
constexpr Columns again_columns{"", "again_1_ns", "again_2_ns"};

struct Measured {
    double median_ns;
    Suspect pair;
};

double middle_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Gathers the findings of all ranks on rank 0.
template <class Number>
std::vector<Number> gathered(Team const &team, std::vector<Number> const &mine, MPI_Datatype type) {
    std::vector<Number> all(team.rank == 0 ? mine.size() * std::size_t(team.size) : 0);
    check(PMPI_Gather(mine.data(), int(mine.size()), type, all.data(), int(mine.size()), type, 0, team.comm),
          "MPI_Gather of findings");
    return all;
}

/// Broadcasts the list of rank 0.
void share(Team const &team, std::vector<Suspect> &suspects) {
    std::int64_t count = std::int64_t(suspects.size());
    check(PMPI_Bcast(&count, 1, MPI_INT64_T, 0, team.comm), "MPI_Bcast of the number of slow pairs");
    suspects.resize(std::size_t(count));
    check(PMPI_Bcast(suspects.data(), int(3 * count), MPI_INT64_T, 0, team.comm), "MPI_Bcast of slow pairs");
}

std::vector<Suspect> agreed_suspects(Team const &team, std::span<PairFinding const> findings,
                                     std::function<int(int, int)> const &class_of) {
    std::vector<double> medians;
    std::vector<std::int64_t> partners;
    std::vector<int> kinds;
    for (PairFinding const &finding : findings) {
        kinds.push_back(finding.kind);
        medians.push_back(finding.median_ns);
        partners.push_back(finding.partner);
    }
    auto const all_medians = gathered(team, medians, MPI_DOUBLE);
    auto const all_partners = gathered(team, partners, MPI_INT64_T);
    std::vector<Suspect> suspects;
    if (team.rank == 0) {
        suspects = slow_pairs(kinds, all_medians, all_partners, class_of);
    }
    share(team, suspects);
    return suspects;
}

bool is_suspect(Pair const &pair, std::span<Suspect const> suspects) {
    return std::any_of(suspects.begin(), suspects.end(), [&](Suspect const &suspect) {
        return std::min(suspect.source, suspect.target) == pair.low &&
               std::max(suspect.source, suspect.target) == pair.high;
    });
}

/// Measures the suspects of one finding again and returns the median; 0 on a rank that is not the source of a suspect.
std::int64_t look_again(Team const &team, PairTurns &turns, std::span<Suspect const> suspects, PairFinding const &first,
                        PairRound const &round, PingPong const &ping) {
    std::vector<Row> rows(static_cast<std::size_t>(first.samples));
    std::vector<Answer> answers(static_cast<std::size_t>(first.samples));
    take_series(team, turns, same_company(team, round, first.mode, suspects), ping,
                {first.mode, first.trips, rows, answers});
    bool const mine = std::any_of(suspects.begin(), suspects.end(),
                                  [&](Suspect const &suspect) { return suspect.source == team.rank; });
    auto durations = durations_of(rows);
    return mine ? median(durations) : 0;
}

} // namespace

PairRound same_company(Team const &team, PairRound const &round, PairMode mode, std::span<Suspect const> suspects) {
    if (mode == PairMode::all) {
        return round;
    }
    std::vector<Pair> pairs;
    for (std::vector<Pair> const &group : round.once) {
        auto const suspected = [&](Pair const &pair) { return is_suspect(pair, suspects); };
        if (mode == PairMode::isolated) {
            std::copy_if(group.begin(), group.end(), std::back_inserter(pairs), suspected);
        } else if (std::any_of(group.begin(), group.end(), suspected)) {
            pairs.insert(pairs.end(), group.begin(), group.end());
        }
    }
    return make_round(team, round.number, std::move(pairs));
}

std::vector<Suspect> slow_pairs(std::span<int const> kinds, std::span<double const> medians,
                                std::span<std::int64_t const> partners, std::function<int(int, int)> const &class_of) {
    std::map<std::pair<int, int>, std::vector<Measured>> classes;
    for (std::size_t at = 0; at < medians.size(); ++at) {
        auto const rank = std::int64_t(at / kinds.size());
        std::size_t const finding = at % kinds.size();
        if (partners[at] >= 0) {
            std::pair<int, int> const key{kinds[finding], class_of(int(rank), int(partners[at]))};
            classes[key].push_back({medians[at], {std::int64_t(finding), rank, partners[at]}});
        }
    }
    std::vector<std::pair<double, Suspect>> slow;
    for (auto const &[key, members] : classes) {
        std::vector<double> values;
        for (Measured const &member : members) {
            values.push_back(member.median_ns);
        }
        double const usual = middle_of(values);
        for (Measured const &member : members) {
            if (member.median_ns > slow_factor * usual) {
                slow.emplace_back(member.median_ns / usual, member.pair);
            }
        }
    }
    std::stable_sort(slow.begin(), slow.end(), [](auto const &a, auto const &b) { return a.first > b.first; });
    std::vector<Suspect> suspects;
    for (auto const &[factor, pair] : slow) {
        suspects.push_back(pair);
    }
    return suspects;
}

std::int64_t measure_slow_again(Cell &cell, PairTurns &turns, std::span<PairFinding const> findings,
                                std::span<PairRound const> rounds, std::function<int(int, int)> const &class_of,
                                std::function<PingPong(std::int64_t bytes)> const &ping_of) {
    auto suspects = agreed_suspects(cell.team(), findings, class_of);
    std::size_t const judged = std::min(suspects.size(), most_suspects);
    auto const left_over = std::int64_t(suspects.size() - judged);
    suspects.resize(judged);
    std::stable_sort(suspects.begin(), suspects.end(),
                     [](Suspect const &a, Suspect const &b) { return a.finding < b.finding; });
    // Once through all of them, then once more: a disturbance of some duration does not affect both repeats.
    std::map<std::int64_t, std::array<std::int64_t, 2>> looks;
    for (std::size_t look = 0; look < 2; ++look) {
        for (std::size_t first = 0; first < judged;) {
            std::int64_t const which = suspects[first].finding;
            std::size_t end = first;
            while (end < judged && suspects[end].finding == which) {
                ++end;
            }
            PairFinding const &finding = findings[std::size_t(which)];
            cell.sampler().status().set(finding.op, "warm", "again");
            auto const round = std::find_if(rounds.begin(), rounds.end(),
                                            [&](PairRound const &each) { return each.number == finding.round; });
            looks[which][look] = look_again(cell.team(), turns, std::span(suspects).subspan(first, end - first),
                                            finding, *round, ping_of(finding.bytes));
            first = end;
        }
    }
    for (auto const &[which, medians] : looks) {
        PairFinding const &finding = findings[std::size_t(which)];
        Segment &segment = cell.sampler().recorder().open("again." + finding.op, Phase::warm, 1, again_columns);
        segment.rows[0] = {0, medians[0], medians[1]};
        segment.count = 1;
        segment.batch = 2 * finding.trips.timed;
    }
    return left_over;
}

} // namespace weft
