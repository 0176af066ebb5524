// SPDX-License-Identifier: BSD-3-Clause
// Placement of ranks on nodes, from host names, not from the order of ranks.
#include "mpi/team.hpp"

#include "host/platform.hpp"
#include "mpi/agree.hpp"
#include "mpi/error.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace weft {

namespace {

/// A host is identified by name and boot id: containers share the boot id, cloned images may share the name.
std::vector<std::string> hosts_of_ranks(Team const &team, platform::Host const &here, int fake) {
    std::vector<std::string> keys;
    std::map<std::string, int> ranks_on;
    for (std::string key : all_texts(team, here.name + "\n" + here.boot_id)) {
        int const earlier = ranks_on[key]++;
        if (fake > 0) {
            key.insert(key.find('\n'), "/" + std::to_string(earlier / fake));
        }
        keys.push_back(key);
    }
    return keys;
}

/// Sets the nodes of a team that has a communicator or a back channel.
void find_nodes(Team &team, int ranks_per_fake_node) {
    team.rank = team.comm.rank();
    team.size = team.comm.size();
    std::map<std::string, int> node_of_key;
    for (std::string const &key : hosts_of_ranks(team, platform::host(), ranks_per_fake_node)) {
        auto const [known, is_new] = node_of_key.try_emplace(key, int(node_of_key.size()));
        if (is_new) {
            team.hosts.push_back(key.substr(0, key.find('\n')));
        }
        team.node_of.push_back(known->second);
    }
    team.nodes = int(team.hosts.size());
    auto const mine = team.node_of.begin() + team.rank;
    team.node = *mine;
    team.local_rank = int(std::count(team.node_of.begin(), mine, team.node));
    team.local_size = int(std::count(team.node_of.begin(), team.node_of.end(), team.node));
}

int ranks_per_fake_node() {
    constexpr char const *name = "WEFT_FAKE_RANKS_PER_NODE";
    std::string const value = platform::variable(name).value_or("0");
    char const *const last = value.data() + value.size();
    int fake = 0;
    auto const [end, error] = std::from_chars(value.data(), last, fake);
    if (error != std::errc{} || end != last || fake < 0) {
        throw Failure(std::string(name) + " is " + value, "unset it, or give a number of ranks (tests only)", true);
    }
    return fake;
}

} // namespace

Team make_team(MPI_Comm parent, int ranks_per_fake_node) {
    Team team;
    team.comm = Comm::duplicate(parent);
    find_nodes(team, ranks_per_fake_node);
    team.settle();
    return team;
}

Team make_team(MPI_Comm parent) {
    return make_team(parent, ranks_per_fake_node());
}

Team make_first_team(std::string const &door) {
    Team team;
    team.comm = Comm::world();
    team.back = open_back_channel(team.comm.rank(), team.comm.size(), door);
    if (!team.back) {
        return make_team(MPI_COMM_WORLD);
    }
    find_nodes(team, ranks_per_fake_node());
    return team;
}

void Team::settle() {
    back.reset();
    node_comm = Comm::split(comm, node, rank);
    leaders = Comm::split(comm, local_rank == 0 ? 0 : MPI_UNDEFINED, rank);
}

} // namespace weft
