// SPDX-License-Identifier: BSD-3-Clause
#include "launch/timed_teams.hpp"

#include "mpi/agree.hpp"
#include "mpi/error.hpp"

#include <algorithm>
#include <sstream>

namespace weft {

namespace {

constexpr char const *members_remedy = "plan files are written by `weft plan` and `weft run`; start the study again";

std::vector<int> first_ranks(CellPlan const &cell, std::string_view value, int launch_ranks) {
    std::int64_t const count = to_integer(value, "ranks");
    if (count < 1 || count > launch_ranks) {
        throw Failure("cell " + cell.name + ": `ranks " + std::to_string(count) + "` of a launch of " +
                          std::to_string(launch_ranks),
                      members_remedy, true);
    }
    std::vector<int> first(static_cast<std::size_t>(count));
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
        first[rank] = static_cast<int>(rank);
    }
    return first;
}

std::vector<int> named_ranks(CellPlan const &cell, std::string const &value, int launch_ranks) {
    std::vector<int> named;
    std::istringstream words(value);
    std::string word;
    while (words >> word) {
        std::int64_t const rank = to_integer(word, "members");
        bool const twice = std::find(named.begin(), named.end(), rank) != named.end();
        if (rank < 0 || rank >= launch_ranks || twice) {
            throw Failure(
                "cell " + cell.name + ": `members " + value + "`: " + word +
                    (twice ? " stands there twice" : " is none of " + std::to_string(launch_ranks) + " ranks"),
                members_remedy, true);
        }
        named.push_back(static_cast<int>(rank));
    }
    if (named.empty()) {
        throw Failure("cell " + cell.name + ": `members` names no rank", members_remedy, true);
    }
    return named;
}

bool are_all(std::vector<int> const &members, int launch_ranks) {
    if (int(members.size()) != launch_ranks) {
        return false;
    }
    return std::is_sorted(members.begin(), members.end()); // distinct and in range: in order they are 0, 1, 2 ...
}

} // namespace

TimedTeam::TimedTeam(Team made, Start how, std::int64_t launch_epoch_ns)
    : team(std::move(made)), clock(team), start(team, clock, how), epoch_ns(value_of(team, launch_epoch_ns)) {}

void TimedTeam::settle() {
    if (team.back) {
        team.settle();
        clock.settle(team);
        start.settle();
    }
}

std::vector<int> members_of(CellPlan const &cell, int launch_ranks) {
    auto const ranks = cell.values.find("ranks");
    auto const members = cell.values.find("members");
    bool const by_count = ranks != cell.values.end();
    bool const by_name = members != cell.values.end();
    if (by_count && by_name) {
        throw Failure("cell " + cell.name + " has both `ranks` and `members`", members_remedy, true);
    }
    std::vector<int> chosen;
    if (by_count) {
        chosen = first_ranks(cell, ranks->second, launch_ranks);
    } else if (by_name) {
        chosen = named_ranks(cell, members->second, launch_ranks);
    }
    return are_all(chosen, launch_ranks) ? std::vector<int>{} : chosen;
}

CellPlan beside_of(CellPlan const &cell) {
    CellPlan other = cell;
    other.values.erase("ranks");
    auto const named = cell.values.find("beside");
    other.values["members"] = named == cell.values.end() ? "" : named->second;
    return other;
}

TimedTeam *TimedTeams::of(CellPlan const &cell) {
    Team const &world = all_.team;
    std::vector<int> const members = members_of(cell, world.size);
    if (members.empty()) {
        return &all_;
    }
    if (auto const found = known_.find(members); found != known_.end()) {
        return found->second.get();
    }
    all_.settle();
    auto const mine = std::find(members.begin(), members.end(), world.rank);
    bool const takes_part = mine != members.end();
    Comm const parent =
        Comm::split(world.comm, takes_part ? 0 : MPI_UNDEFINED, takes_part ? int(mine - members.begin()) : 0);
    std::unique_ptr<TimedTeam> team;
    if (takes_part) {
        team = std::make_unique<TimedTeam>(make_team(parent), all_.start.start(), all_.clock.local(all_.epoch_ns));
    }
    return known_.emplace(members, std::move(team)).first->second.get();
}

void TimedTeams::wait_for(TimedTeam const *team, std::function<bool()> const &work) const {
    wait_once(team, work);
    if (platform::one_clock()) { // SMPI lets all others go once rank 0 has come: only that one has waited for all
        wait_once(team, work);
    }
}

void TimedTeams::wait_once(TimedTeam const *team, std::function<bool()> const &work) const {
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Ibarrier(all_.team.comm, &request), "MPI_Ibarrier after a cell");
    if (platform::one_clock() && !work) { // in a simulator waiting is free, and polling is not
        check(PMPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait after a cell");
        return;
    }
    constexpr std::int64_t shortest_nap_ns = 20'000;
    constexpr std::int64_t longest_nap_ns = 2'000'000;
    std::int64_t nap_ns = shortest_nap_ns;
    int done = 0;
    while (true) {
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test after a cell");
        if (done != 0) {
            return;
        }
        bool const worked = work && work();
        platform::sleep_ns(nap_ns);
        nap_ns = team == nullptr && !worked ? std::min(2 * nap_ns, longest_nap_ns) : shortest_nap_ns;
    }
}

} // namespace weft
