// SPDX-License-Identifier: BSD-3-Clause
// Loads of links by in-tree accumulation: the routes to one destination form a tree, so traffic is pushed from its
// leaves to its root and summed where branches meet: O(hosts x switches), not O(hosts^2 x hops).
#include "graph.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <vector>

namespace weft::route {
namespace {

constexpr std::int32_t width = 16; // destinations at a time: one cache line of each switch's table

template <class Amount> struct Accumulator {
    Graph const &graph;
    std::vector<Amount> load;
    std::vector<std::int32_t> next; // width x switches
    std::vector<Amount> flow;
    std::vector<std::int32_t> entering; // branches of the tree into a switch that are not yet pushed
    std::vector<std::int32_t> ready;
    Amount lost = 0;

    explicit Accumulator(Graph const &given)
        : graph(given), load(given.links, 0), next(std::size_t(width) * given.switches), flow(given.switches),
          entering(given.switches), ready(given.switches) {}

    // Copies the tables towards destinations first ... first + count - 1, a column each.
    void take(std::int32_t first, std::int32_t count) {
        for (std::int32_t at = 0; at < graph.switches; ++at) {
            std::int32_t const *row = graph.forward + std::int64_t(at) * graph.hosts + first;
            for (std::int32_t column = 0; column < count; ++column)
                next[std::size_t(column) * graph.switches + at] = row[column];
        }
    }

    // Pushes `flow` to host `end` along the tree in a column. Traffic that cannot arrive counts as lost.
    void push(std::int32_t end, std::int32_t column) {
        std::int32_t const *link = next.data() + std::size_t(column) * graph.switches;
        std::fill(entering.begin(), entering.end(), 0);
        for (std::int32_t at = 0; at < graph.switches; ++at)
            if (link[at] >= 0 && graph.next_switch(link[at]) >= 0)
                ++entering[graph.next_switch(link[at])];
        std::int32_t waiting = 0;
        for (std::int32_t at = 0; at < graph.switches; ++at)
            if (entering[at] == 0)
                ready[waiting++] = at;
        while (waiting > 0)
            waiting = step(link, ready[waiting - 1], end, waiting - 1);
        // Switches in a loop, and those reached only from a loop, are never ready.
        for (std::int32_t at = 0; at < graph.switches; ++at)
            lost += flow[at];
    }

    std::int32_t step(std::int32_t const *link, std::int32_t at, std::int32_t end, std::int32_t waiting) {
        Amount const amount = flow[at];
        flow[at] = 0;
        std::int32_t const out = link[at];
        if (out < 0) {
            lost += amount;
            return waiting;
        }
        std::int32_t const there = graph.next_switch(out);
        if (there >= 0) {
            load[out] += amount;
            flow[there] += amount;
            if (--entering[there] == 0)
                ready[waiting++] = there;
        } else if (graph.target[out] == end) {
            load[out] += amount;
        } else {
            lost += amount; // delivered to a wrong host: adapters do not forward
        }
        return waiting;
    }
};

// Runs over all destinations; fill(flow, end) sets the traffic from every switch to a host, and returns whether there
// is any.
template <class Amount, class Fill> Amount run(Graph const &graph, Amount *load, Fill fill) {
    std::vector<Accumulator<Amount>> each(std::max(1, graph.threads), Accumulator<Amount>(graph));
    for_each((graph.hosts + width - 1) / width, graph.threads, [&](std::int32_t thread, std::int64_t block) {
        auto &mine = each[thread];
        auto const first = std::int32_t(block * width), count = std::min(width, graph.hosts - first);
        mine.take(first, count);
        for (std::int32_t column = 0; column < count; ++column)
            if (fill(mine.flow, first + column))
                mine.push(first + column, column);
    });
    Amount lost = 0;
    for (auto &mine : each) {
        lost += mine.lost;
        for (std::int32_t link = 0; link < graph.links; ++link)
            load[link] += mine.load[link];
    }
    return lost;
}

} // namespace

// Every host a sends weight[a] * weight[b] to every other host b. Adds to load (links); returns what had no route.
WEFT_ROUTE_API std::int64_t weft_route_all_to_all(Graph const *graph, std::int64_t const *weight, std::int64_t *load) {
    Graph const &given = *graph;
    std::vector<std::int64_t> below(given.switches, 0);
    std::int64_t total = 0, cut_off = 0;
    for (std::int32_t host = 0; host < given.hosts; ++host) {
        total += weight[host];
        if (given.leaf[host] >= 0)
            below[given.leaf[host]] += weight[host];
        else
            cut_off += weight[host];
    }
    for (std::int32_t host = 0; host < given.hosts; ++host)
        if (given.uplink[host] >= 0)
            load[given.uplink[host]] += weight[host] * (total - weight[host]);
    std::int64_t const lost = run<std::int64_t>(given, load, [&](std::vector<std::int64_t> &flow, std::int32_t end) {
        if (weight[end] == 0)
            return false;
        for (std::int32_t at = 0; at < given.switches; ++at)
            flow[at] = below[at] * weight[end];
        if (given.leaf[end] >= 0)
            flow[given.leaf[end]] -= weight[end] * weight[end];
        return true;
    });
    std::int64_t unsent = 0; // from hosts without a cable
    for (std::int32_t host = 0; host < given.hosts; ++host)
        if (given.leaf[host] < 0)
            unsent += weight[host] * (total - weight[host]);
    return lost + unsent;
}

} // namespace weft::route
