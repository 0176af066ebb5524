// SPDX-License-Identifier: BSD-3-Clause
#include "host/shared_cores.hpp"

#include "host/host_memory.hpp"
#include "host/platform.hpp"
#include "mpi/agree.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>

namespace weft {

namespace {

/// Reads a whole number at the start of `text` and removes it; -1 if there is none.
int next_cpu(std::string_view &text) {
    int value = -1;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::size_t(end - text.data()));
    return error == std::errc{} ? value : -1;
}

/// The lowest hardware thread of this CPU's core; the CPU itself if unknown.
int core_of(int cpu, std::string const &root) {
    std::string const text =
        read_text(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string_view rest = text;
    int const first = next_cpu(rest);
    return first < 0 ? cpu : first;
}

/// Assigns each rank its own core, by augmenting paths (Kuhn 1955).
class Seating {
  public:
    explicit Seating(std::vector<Cores> const &ranks) : ranks_(ranks) {}

    /// False if there is no core for this rank, even if others move: `asked()` are then the ranks it competes with.
    bool seat(int rank) {
        asked_.clear();
        return find(rank);
    }
    [[nodiscard]] std::vector<int> const &asked() const { return asked_; }

  private:
    bool find(int rank) {
        asked_.push_back(rank);
        for (int const core : ranks_[std::size_t(rank)]) {
            auto const taken = by_core_.find(core);
            bool const free = taken == by_core_.end();
            bool const met = !free && std::find(asked_.begin(), asked_.end(), taken->second) != asked_.end();
            if (free || (!met && find(taken->second))) {
                by_core_[core] = rank;
                return true;
            }
        }
        return false;
    }

    std::vector<Cores> const &ranks_;
    std::map<int, int> by_core_;
    std::vector<int> asked_;
};

std::string listed_ranks(std::vector<int> const &ranks) {
    constexpr std::size_t most = 8;
    std::string words;
    for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
        words += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    }
    return words + (ranks.size() > most ? " and " + std::to_string(ranks.size() - most) + " more" : "");
}

std::string sharing_warning(std::string const &host, std::vector<int> const &who, Cores const &cores) {
    return "two ranks on one core: ranks " + listed_ranks(who) + " of " + host + " may use " +
           std::to_string(cores.size()) + (cores.size() == 1 ? " core" : " cores") + " only (" + listed_ranks(cores) +
           "), so they take turns";
}

std::string hosts_of(Team const &team, std::vector<int> const &ranks) {
    std::string words, last;
    for (int const rank : ranks) {
        std::string const &host = team.hosts[std::size_t(team.node_of[std::size_t(rank)])];
        words += host == last ? "" : (words.empty() ? "" : ", ") + host;
        last = host;
    }
    return words;
}

/// The warnings of rank 0, on every rank: each of them may be the first of a cell's ranks.
std::vector<std::string> spread(Team const &team, std::vector<std::string> const &found) {
    std::string lines;
    for (auto const &each : found) {
        lines += each + "\n";
    }
    std::istringstream all(text_of(team, lines));
    std::vector<std::string> same;
    for (std::string line; std::getline(all, line);) {
        same.push_back(line);
    }
    return same;
}

/// Of a machine.
struct Ranks {
    std::vector<Cores> cores;
    std::vector<int> ranks;
};

Cores numbers_in(std::string const &text) {
    Cores found;
    std::istringstream numbers(text);
    for (int number = 0; numbers >> number;) {
        found.push_back(number);
    }
    return found;
}

} // namespace

Cores cores_of(std::string_view cpus, std::string const &root) {
    Cores cores;
    while (!cpus.empty()) {
        int const first = next_cpu(cpus);
        int last = first;
        if (cpus.starts_with('-')) {
            cpus.remove_prefix(1);
            last = next_cpu(cpus);
        }
        for (int cpu = first; cpu >= 0 && cpu <= last; ++cpu) {
            cores.push_back(core_of(cpu, root));
        }
        if (!cpus.starts_with(',')) {
            break;
        }
        cpus.remove_prefix(1);
    }
    std::sort(cores.begin(), cores.end());
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    return cores;
}

std::vector<int> crowded(std::vector<Cores> const &ranks) {
    Seating seating(ranks);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        bool const unknown = ranks[rank].empty();
        if (!unknown && !seating.seat(int(rank))) {
            std::vector<int> who = seating.asked();
            std::sort(who.begin(), who.end());
            return who;
        }
    }
    return {};
}

std::vector<std::string> placement_warnings(Team const &team) {
    std::vector<std::string> found;
    if (platform::one_clock()) {
        return found; // simulated ranks do not share cores
    }
    std::string mine = platform::host().boot_id + ":";
    for (int const core : cores_of(platform::host().cpus)) {
        mine += std::to_string(core) + " ";
    }
    bool const made_up = platform::variable("WEFT_NODE_NAMED_BY").has_value();
    std::vector<std::string> const lines = texts_on_rank_0(team, mine);
    std::map<std::string, Ranks> machines; // of nodes that are made up, those that one kernel runs
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        auto const colon = lines[rank].find(':');
        Ranks &own = machines[made_up ? lines[rank].substr(0, colon) : std::to_string(team.node_of[rank])];
        own.cores.push_back(numbers_in(lines[rank].substr(colon + 1)));
        own.ranks.push_back(int(rank));
    }
    for (auto machine = machines.begin(); machine != machines.end() && found.empty(); ++machine) {
        auto const &[cores, ranks] = machine->second;
        std::vector<int> who = crowded(cores);
        if (!who.empty()) {
            Cores const &shared = cores[std::size_t(who.front())];
            std::transform(who.begin(), who.end(), who.begin(), [&](int k) { return ranks[std::size_t(k)]; });
            found.push_back(sharing_warning(hosts_of(team, who), who, shared));
        }
    }
    if (made_up && !lines.empty() && team.nodes > int(machines.size())) {
        found.push_back("nodes share a host: " + std::to_string(team.nodes) + " nodes ran on " +
                        std::to_string(machines.size()) + (machines.size() == 1 ? " host" : " hosts"));
    }
    return spread(team, found);
}

} // namespace weft
