// SPDX-License-Identifier: BSD-3-Clause
// Forwarding tables made for an all-to-all. For each destination in turn every switch, farthest first, chooses the
// allowed link with the cheapest remaining path; a link costs (load / mean load)^8, so the most loaded link of a path
// dominates. Each choice is added to the loads at once, up to the last switch: else all leaves would choose the same
// spine. In later passes a destination's routes are removed and chosen again with all others in place.
#include "ways.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace weft::route {
namespace {

struct Rerouter {
    Graph const &graph;
    Ways const &ways;
    double const *slowness;
    double branching; // cost of a new branch of a destination's tree, in links of mean load
    std::int32_t *forward;
    std::vector<double> load, flow, below;
    std::vector<std::int32_t> plan;
    std::vector<std::int32_t> near_first;
    double unit = 1;

    double price(std::int32_t link, double more) const {
        return to_the_eighth(1e-3 + (load[link] + more) * slowness[link] / unit);
    }
    std::int32_t &entry(std::int32_t at, std::int32_t end) const {
        return forward[std::int64_t(at) * graph.hosts + end];
    }

    Rerouter(Graph const &given, Ways const &allowed, double const *slow, double new_branch, std::int32_t *tables)
        : graph(given), ways(allowed), slowness(slow), branching(new_branch), forward(tables), load(given.links, 0),
          flow(given.switches), below(given.switches, 0), plan(given.switches, none) {
        double hosts = 0;
        for (std::int32_t host = 0; host < given.hosts; ++host)
            if (given.leaf[host] >= 0) {
                ++below[given.leaf[host]];
                ++hosts;
            }
        unit = std::max(1.0, hosts * hosts / std::max<double>(1, double(ways.ports().link.size())));
    }

    void begin(std::int32_t end) {
        flow = below;
        flow[graph.leaf[end]] = 0; // traffic from the last switch's own hosts crosses no link between switches
    }

    void take_out(std::int32_t end) {
        begin(end);
        for (auto at = near_first.rbegin(); at != near_first.rend(); ++at) {
            std::int32_t const link = entry(*at, end);
            if (link < 0)
                continue;
            load[link] -= flow[*at];
            flow[graph.next_switch(link)] += flow[*at];
        }
    }

    // Cost of `more` units along the planned route from a switch to the last one.
    double along(std::int32_t at, std::int32_t home, double more) const {
        double sum = 0;
        for (; at != home; at = graph.next_switch(plan[at])) {
            if (plan[at] < 0)
                return std::numeric_limits<double>::infinity();
            sum += price(plan[at], more);
        }
        return sum;
    }

    void add_along(std::int32_t at, std::int32_t home, double more) {
        for (; at != home && plan[at] >= 0; at = graph.next_switch(plan[at])) {
            load[plan[at]] += more;
            flow[graph.next_switch(plan[at])] += more;
        }
    }

    // The allowed link of least cost for `more`; ties go to the first from `turn` on, so that destinations begin
    // spread out.
    std::int32_t best(std::int32_t at, std::int32_t home, std::int32_t turn, double more) const {
        Ports const &ports = ways.ports();
        std::int32_t const first = ports.first[at], count = ports.first[at + 1] - first;
        std::int32_t chosen = none;
        double least = std::numeric_limits<double>::infinity();
        for (std::int32_t step = 0; step < count; ++step) {
            std::int32_t const link = ports.link[first + (turn + step) % count];
            if (!ways.allowed(home, at, link))
                continue;
            std::int32_t const there = graph.next_switch(link);
            double const opens = more > 0 && there != home && flow[there] == 0 ? branching : 0;
            double const cost = price(link, more) + along(there, home, more) + opens;
            if (cost < least) {
                least = cost;
                chosen = link;
            }
        }
        return chosen;
    }

    // Plans by present loads, nearest first; then chooses, farthest first, with all traffic through each switch.
    void put_in(std::int32_t end, std::int32_t turn) {
        std::int32_t const home = graph.leaf[end];
        for (std::int32_t const at : near_first)
            plan[at] = best(at, home, turn, 0);
        std::fill(flow.begin(), flow.end(), 0);
        for (auto at = near_first.rbegin(); at != near_first.rend(); ++at) {
            double const arrived = flow[*at], more = arrived + below[*at];
            add_along(*at, home, -arrived);
            plan[*at] = best(*at, home, turn, more);
            add_along(*at, home, more);
            entry(*at, end) = plan[*at];
        }
    }
};

} // namespace

// Fills forward (switches x hosts) with tables for an all-to-all among all hosts.
//   rank      switches: a total order for up*/down* routes, or null for minimal ones
//   slowness  links: time of one unit over a link
//   branching 0 spreads each destination's routes most; more keeps them on fewer branches, better for permutations
// Returns the number of switch and host pairs without an allowed route.
WEFT_ROUTE_API std::int64_t weft_route_reroute(Graph const *graph, std::int32_t const *rank, double const *slowness,
                                               double branching, std::int32_t passes, std::uint64_t seed,
                                               std::int32_t *forward) {
    Ways const ways(*graph, rank);
    Rerouter router(*graph, ways, slowness, branching, forward);
    std::fill_n(forward, std::int64_t(graph->switches) * graph->hosts, none);
    std::vector<std::int32_t> order, turn(graph->hosts), seen(graph->switches, 0);
    for (std::int32_t host = 0; host < graph->hosts; ++host)
        if (graph->leaf[host] >= 0) {
            order.push_back(host);
            turn[host] = seen[graph->leaf[host]]++;
            router.entry(graph->leaf[host], host) = graph->delivery[host];
        }
    std::mt19937_64 random(seed);
    for (std::int32_t pass = 0; pass < passes; ++pass) {
        std::shuffle(order.begin(), order.end(), random);
        for (std::int32_t const end : order) {
            ways.order(graph->leaf[end], router.near_first);
            if (pass > 0)
                router.take_out(end);
            router.put_in(end, turn[end]);
        }
    }
    return std::count(forward, forward + std::int64_t(graph->switches) * graph->hosts, none);
}

} // namespace weft::route
