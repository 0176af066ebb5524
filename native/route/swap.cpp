// SPDX-License-Identifier: BSD-3-Clause
// Makes the phases of a shift faster without slowing the all-to-all. A message on the slowest link of a phase is
// chosen; at its source's leaf switch its destination is swapped with another one of the same leaf, or gets another
// path. Destinations of one leaf have the same traffic in an all-to-all, so its slowest link does not change, which is
// checked. A change is kept if the sum over phases of (sum over links of time^16)^(1/16), nearly the sum of the slowest
// links' times, decreases.
#include "ways.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <vector>

namespace weft::route {
namespace {

constexpr double most_bytes = 6e9; // of both tables; larger networks are not changed

double sixteenth(double value) {
    double const eighth = to_the_eighth(value);
    return eighth * eighth;
}

// One entry of a leaf switch's table, and its new value.
struct Entry {
    std::int32_t leaf, end, link;
};

struct Swapper {
    Graph const &graph;
    Ways const &ways;
    double const *slowness;
    double most;   // of units times slowness over any link in the all-to-all
    double spread; // cost of spreading the routes to a host over more links
    std::int32_t *forward;
    std::int32_t ranks = 0;
    std::vector<std::int32_t> host, rank;       // ranks: their host; hosts: their rank, -1 = none
    std::vector<std::vector<std::int32_t>> own; // switches: the hosts on them
    std::vector<bool> passed;                   // switches: routes of others cross them
    std::vector<std::uint16_t> units;           // phases x links
    std::vector<std::uint16_t> sources;         // links x hosts: number of hosts that send to a host over a link
    std::vector<double> sum;                    // phases: sum over links of time^16
    std::vector<std::int64_t> load;             // links: units in the all-to-all
    std::vector<std::int32_t> touched;          // phases whose sums a trial changed
    std::vector<double> before;                 // their previous values
    std::vector<std::int32_t> way;              // links of a route
    double together = 0; // sum of the squares of `sources`: larger if routes to a host use fewer links

    Swapper(Graph const &given, Ways const &allowed, double const *slow, double limit, double price,
            std::int32_t *tables)
        : graph(given), ways(allowed), slowness(slow), most(limit), spread(price), forward(tables),
          rank(given.hosts, none), own(given.switches), passed(given.switches, false), load(given.links, 0) {
        for (std::int32_t at = 0; at < given.hosts; ++at)
            if (given.leaf[at] >= 0) {
                rank[at] = ranks++;
                host.push_back(at);
                own[given.leaf[at]].push_back(at);
            }
        units.assign(std::size_t(std::max(1, ranks)) * given.links, 0);
        sources.assign(std::size_t(given.links) * given.hosts, 0);
        sum.assign(std::max(1, ranks), 0);
    }

    std::int32_t &entry(std::int32_t at, std::int32_t end) const {
        return forward[std::int64_t(at) * graph.hosts + end];
    }
    std::int32_t phase(std::int32_t from, std::int32_t to) const {
        std::int32_t const behind = rank[to] - rank[from];
        return behind < 0 ? behind + ranks : behind;
    }

    // Calls use(link) for each link between switches from a leaf to a host; false if the tables do not lead there.
    template <class Use> bool walk(std::int32_t leaf, std::int32_t end, Use use) const {
        std::int32_t at = leaf;
        for (std::int32_t hop = 0; hop <= graph.switches; ++hop) {
            if (at == graph.leaf[end])
                return true;
            std::int32_t const link = entry(at, end);
            if (link < 0 || graph.next_switch(link) < 0)
                return false;
            use(link);
            at = graph.next_switch(link);
        }
        return false;
    }

    bool fill() {
        bool whole = true;
        for (std::int32_t const end : host)
            for (std::int32_t leaf = 0; leaf < graph.switches; ++leaf)
                if (!own[leaf].empty() && leaf != graph.leaf[end]) {
                    whole = whole && walk(leaf, end, [&](std::int32_t link) {
                                std::int32_t const at = graph.source[link] - graph.hosts;
                                passed[at] = passed[at] || at != leaf;
                            });
                    put({leaf, end, none}, 1, false);
                }
        for (std::int32_t at = 0; at < ranks; ++at) {
            sum[at] = 0;
            for (std::int32_t link = 0; link < graph.links; ++link)
                sum[at] += sixteenth(units[std::size_t(at) * graph.links + link] * slowness[link]);
        }
        return whole;
    }

    // Adds or removes the messages of a leaf's hosts to one host along the present tables.
    void put(Entry const &route, std::int32_t sign, bool sums) {
        auto const weight = std::int32_t(own[route.leaf].size());
        way.clear();
        walk(route.leaf, route.end, [&](std::int32_t link) { way.push_back(link); });
        for (std::int32_t const link : way) {
            std::uint16_t &count = sources[std::size_t(link) * graph.hosts + route.end];
            auto const more = std::uint16_t(count + sign * weight);
            together += double(more) * more - double(count) * count;
            count = more;
            load[link] += sign * weight;
        }
        for (std::int32_t const from : own[route.leaf]) {
            std::int32_t const at = phase(from, route.end);
            if (sums) {
                touched.push_back(at);
                before.push_back(sum[at]);
            }
            std::uint16_t *const row = units.data() + std::size_t(at) * graph.links;
            for (std::int32_t const link : way) {
                if (sums)
                    sum[at] += sixteenth((row[link] + sign) * slowness[link]) - sixteenth(row[link] * slowness[link]);
                row[link] = std::uint16_t(row[link] + sign);
            }
        }
    }

    bool too_full(Entry const &route) const {
        bool full = false;
        walk(route.leaf, route.end,
             [&](std::int32_t link) { full = full || double(load[link]) * slowness[link] > most * (1 + 1e-12); });
        return full;
    }

    // Whether the route from a leaf over a link avoids other leaf switches, so that their routes do not change.
    bool clear(Entry const &route) const {
        std::int32_t const there = graph.next_switch(route.link);
        bool free = ways.allowed(graph.leaf[route.end], route.leaf, route.link);
        if (!free)
            return false;
        bool const arrives = walk(
            there, route.end, [&](std::int32_t link) { free = free && own[graph.source[link] - graph.hosts].empty(); });
        return arrives && free;
    }

    void set(std::vector<Entry> const &entries) {
        for (Entry const &each : entries)
            put(each, -1, true);
        for (Entry const &each : entries)
            entry(each.leaf, each.end) = each.link;
        for (Entry const &each : entries)
            put(each, 1, true);
    }

    // The gain of changes, without applying them.
    double worth(std::vector<Entry> const &changes) {
        for (Entry const &change : changes)
            if (!clear(change))
                return 0;
        touched.clear();
        before.clear();
        double const was = together;
        std::vector<Entry> old;
        for (Entry const &change : changes)
            old.push_back({change.leaf, change.end, entry(change.leaf, change.end)});
        set(changes);
        double const lost = std::max(0.0, was - together) / (double(ranks) * double(own[changes[0].leaf].size()));
        double const saved = gain();
        bool const full = std::any_of(changes.begin(), changes.end(), [this](auto &each) { return too_full(each); });
        auto const phases = touched;
        auto const sums = before;
        set(old);
        for (std::size_t i = phases.size(); i-- > 0;)
            sum[phases[i]] = sums[i]; // exactly as before: rounding does not accumulate
        together = was;
        return full || saved <= 1e-9 ? 0 : saved - spread * lost;
    }

    // Reduction of the time of the touched phases.
    double gain() {
        double saved = 0;
        std::vector<std::int32_t> seen;
        for (std::size_t i = 0; i < touched.size(); ++i) {
            if (std::find(seen.begin(), seen.end(), touched[i]) != seen.end())
                continue;
            seen.push_back(touched[i]);
            saved += std::pow(std::max(before[i], 0.0), 1.0 / 16) - std::pow(std::max(sum[touched[i]], 0.0), 1.0 / 16);
        }
        return saved;
    }

    std::int32_t fullest(std::int32_t at) const {
        std::uint16_t const *const row = units.data() + std::size_t(at) * graph.links;
        std::int32_t found = 0;
        for (std::int32_t link = 1; link < graph.links; ++link)
            if (row[link] * slowness[link] > row[found] * slowness[found])
                found = link;
        return found;
    }

    // Messages of a phase that cross a link, as pairs of leaf and host.
    std::vector<Entry> crossing(std::int32_t at, std::int32_t wanted) const {
        std::vector<Entry> found;
        std::int32_t const source = graph.source[wanted] - graph.hosts;
        for (std::int32_t from = 0; from < ranks && source >= 0; ++from) {
            std::int32_t const end = host[from + at < ranks ? from + at : from + at - ranks];
            if (entry(source, end) != wanted)
                continue;
            std::int32_t const leaf = graph.leaf[host[from]];
            bool over = false;
            if (leaf != graph.leaf[end])
                walk(leaf, end, [&](std::int32_t link) { over = over || link == wanted; });
            if (over && !passed[leaf])
                found.push_back({leaf, end, entry(leaf, end)});
        }
        return found;
    }

    // Makes the change that helps a phase most. Returns the number of entries changed, 0 if nothing helps.
    std::int32_t step(std::int32_t at) {
        std::vector<Entry> const messages = crossing(at, fullest(at));
        std::vector<Entry> best;
        double most_worth = 1e-9;
        auto const look = [&](std::vector<Entry> const &changes) {
            if (double const value = worth(changes); value > most_worth) {
                most_worth = value;
                best = changes;
            }
        };
        for (Entry const &one : messages) {
            if (messages.size() < 2)
                break;
            for (std::int32_t const other : own[graph.leaf[one.end]])
                if (std::int32_t const link = entry(one.leaf, other); link != one.link && link >= 0)
                    look({{one.leaf, one.end, link}, {one.leaf, other, one.link}});
            Ports const &ports = ways.ports();
            for (std::int32_t place = ports.first[one.leaf]; place < ports.first[one.leaf + 1]; ++place)
                if (ports.link[place] != one.link)
                    look({{one.leaf, one.end, ports.link[place]}});
        }
        if (!best.empty())
            set(best);
        return std::int32_t(best.size());
    }
};

} // namespace

// Changes entries of leaf switches in forward (switches x hosts) so that the phases of a shift of all hosts take less.
//   rank      switches: a total order for up*/down* routes, or null for minimal ones
//   slowness  links: time of one unit over a link
//   most      limit of each link in the all-to-all, in units times slowness
//   spread    cost of separating routes to a host, compared with gains of phases
//   rounds    number of passes over all phases, in random order
//   limit_s   seconds of processor time after which no further phase is begun
// Returns the number of entries changed: 0 if the network is too large; -1 if a host is not reached.
WEFT_ROUTE_API std::int32_t weft_route_swap(Graph const *graph, std::int32_t const *rank, double const *slowness,
                                            double most, double spread, std::int32_t rounds, std::uint64_t seed,
                                            double limit_s, std::int32_t *forward) {
    double const bytes = 2.0 * graph->links * 2.0 * graph->hosts;
    if (bytes > most_bytes)
        return 0;
    Ways const ways(*graph, rank);
    Swapper swapper(*graph, ways, slowness, most, spread, forward);
    if (!swapper.fill())
        return none;
    auto const began = std::clock();
    auto const spent = [&] { return double(std::clock() - began) / CLOCKS_PER_SEC > limit_s; };
    std::mt19937_64 random(seed);
    std::vector<std::int32_t> phases;
    for (std::int32_t at = 1; at < swapper.ranks; ++at)
        phases.push_back(at);
    std::int32_t total = 0;
    for (std::int32_t round = 0; round < rounds; ++round) {
        std::shuffle(phases.begin(), phases.end(), random);
        std::int32_t before = total;
        for (std::int32_t const at : phases)
            if (!spent())
                total += swapper.step(at);
        if (total == before || spent())
            break;
    }
    return total;
}

} // namespace weft::route
