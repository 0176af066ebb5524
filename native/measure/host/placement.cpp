// SPDX-License-Identifier: BSD-3-Clause
// Placement of ranks on nodes, from host names, not from the order of ranks.
#include "mpi/team.hpp"

#include "host/platform.hpp"
#include "mpi/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>

namespace weft {

namespace {

constexpr std::size_t name_bytes = 192;
using Name = std::array<char, name_bytes>;

Name to_name(std::string const &text) {
    Name name{};
    std::copy_n(text.begin(), std::min(text.size(), name_bytes - 1), name.begin());
    return name;
}

std::vector<Name> gather_names(MPI_Comm comm, int size, Name const &mine) {
    std::vector<Name> all(static_cast<std::size_t>(size));
    check(PMPI_Allgather(mine.data(), name_bytes, MPI_CHAR, all.data(), name_bytes, MPI_CHAR, comm),
          "MPI_Allgather of host names");
    return all;
}

/// A host is identified by name and boot id: containers share the boot id, cloned images may share the name.
std::vector<std::string> hosts_of_ranks(MPI_Comm comm, int size, platform::Host const &here, int fake) {
    std::vector<std::string> keys;
    std::map<std::string, int> ranks_on;
    for (Name const &name : gather_names(comm, size, to_name(here.name + "\n" + here.boot_id))) {
        std::string key = name.data();
        int const earlier = ranks_on[key]++;
        if (fake > 0) {
            key.insert(key.find('\n'), "/" + std::to_string(earlier / fake));
        }
        keys.push_back(key);
    }
    return keys;
}

} // namespace

Team make_team(MPI_Comm parent, int ranks_per_fake_node) {
    Team team;
    team.comm = Comm::duplicate(parent);
    team.rank = team.comm.rank();
    team.size = team.comm.size();
    std::map<std::string, int> node_of_key;
    for (std::string const &key : hosts_of_ranks(team.comm, team.size, platform::host(), ranks_per_fake_node)) {
        auto const [known, is_new] = node_of_key.try_emplace(key, int(node_of_key.size()));
        if (is_new) {
            team.hosts.push_back(key.substr(0, key.find('\n')));
        }
        team.node_of.push_back(known->second);
    }
    team.nodes = int(team.hosts.size());
    team.node = team.node_of[std::size_t(team.rank)];
    team.node_comm = Comm::split(team.comm, team.node, team.rank);
    team.local_rank = team.node_comm.rank();
    team.local_size = team.node_comm.size();
    team.leaders = Comm::split(team.comm, team.local_rank == 0 ? 0 : MPI_UNDEFINED, team.rank);
    return team;
}

Team make_team(MPI_Comm parent) {
    constexpr char const *name = "WEFT_FAKE_RANKS_PER_NODE";
    std::string const value = platform::variable(name).value_or("0");
    char const *const last = value.data() + value.size();
    int fake = 0;
    auto const [end, error] = std::from_chars(value.data(), last, fake);
    if (error != std::errc{} || end != last || fake < 0) {
        throw Failure(std::string(name) + " is " + value, "unset it, or give a number of ranks (tests only)", true);
    }
    return make_team(parent, fake);
}

} // namespace weft
