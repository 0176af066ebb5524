// SPDX-License-Identifier: BSD-3-Clause
// Improvement of present tables with few changes: repeatedly changes entries to route traffic around the slowest link,
// first those that reduce the sum of (time of a link)^8 most.
#include "ways.hpp"

#include <algorithm>
#include <vector>

namespace weft::route {
namespace {

struct Change {
    double gain = 1e-12;
    std::int32_t at = none, end = none, link = none;
};

struct Reliever {
    Graph const &graph;
    Ways const &ways;
    double const *slowness;
    std::vector<std::int32_t> towards; // hosts x switches: the tables by destination, so that a tree of routes is a row
    std::vector<double> load, flow, below;
    std::vector<std::int32_t> entering, ready, way;
    std::vector<char> crossing;
    double hottest_time = 1;

    Reliever(Graph const &given, Ways const &allowed, double const *slow, std::int32_t const *forward)
        : graph(given), ways(allowed), slowness(slow), towards(std::size_t(given.hosts) * given.switches),
          load(given.links, 0), flow(given.switches), below(given.switches, 0), entering(given.switches),
          ready(given.switches), crossing(given.switches) {
        each_entry([&](std::size_t row, std::size_t column) { towards[column] = forward[row]; });
        for (std::int32_t host = 0; host < given.hosts; ++host)
            if (given.leaf[host] >= 0)
                ++below[given.leaf[host]];
    }

    // Calls `use` with the place of each entry in tables by switch and in those by destination, in blocks that fit a
    // cache.
    template <typename Use> void each_entry(Use use) const {
        constexpr std::int32_t block = 64;
        for (std::int32_t first = 0; first < graph.hosts; first += block)
            for (std::int32_t at = 0; at < graph.switches; ++at)
                for (std::int32_t end = first; end < std::min(first + block, graph.hosts); ++end)
                    use(std::size_t(at) * graph.hosts + end, std::size_t(end) * graph.switches + at);
    }
    void write(std::int32_t *forward) const {
        each_entry([&](std::size_t row, std::size_t column) { forward[row] = towards[column]; });
    }

    std::int32_t &entry(std::int32_t at, std::int32_t end) { return towards[std::size_t(end) * graph.switches + at]; }
    std::int32_t entry(std::int32_t at, std::int32_t end) const {
        return towards[std::size_t(end) * graph.switches + at];
    }
    double power(std::int32_t link, double more) const {
        return to_the_eighth((load[link] + more) * slowness[link] / hottest_time);
    }

    // Flow through every switch towards a host, and in `ready` the switches from the leaves to the root.
    std::int32_t flows(std::int32_t end) {
        flow = below;
        if (graph.leaf[end] >= 0)
            --flow[graph.leaf[end]];
        std::fill(entering.begin(), entering.end(), 0);
        for (std::int32_t at = 0; at < graph.switches; ++at)
            if (entry(at, end) >= 0 && graph.next_switch(entry(at, end)) >= 0)
                ++entering[graph.next_switch(entry(at, end))];
        std::int32_t count = 0;
        for (std::int32_t at = 0; at < graph.switches; ++at)
            if (entering[at] == 0)
                ready[count++] = at;
        for (std::int32_t head = 0; head < count; ++head) {
            std::int32_t const link = entry(ready[head], end);
            std::int32_t const there = link >= 0 ? graph.next_switch(link) : none;
            if (there < 0)
                continue;
            flow[there] += flow[ready[head]];
            if (--entering[there] == 0)
                ready[count++] = there;
        }
        return count;
    }

    void sum_up() {
        for (std::int32_t end = 0; end < graph.hosts; ++end) {
            std::int32_t const count = flows(end);
            for (std::int32_t head = 0; head < count; ++head)
                if (std::int32_t const link = entry(ready[head], end); link >= 0)
                    load[link] += flow[ready[head]];
        }
    }

    std::int32_t hottest() const {
        std::int32_t found = none;
        for (std::int32_t const link : ways.ports().link)
            if (found < 0 || load[link] * slowness[link] > load[found] * slowness[found])
                found = link;
        return found;
    }

    // Whether the route from each switch in `ready` to a host crosses the switch `wanted`.
    void find_crossing(std::int32_t end, std::int32_t wanted, std::int32_t count) {
        std::fill(crossing.begin(), crossing.end(), 0);
        for (std::int32_t head = count; head-- > 0;) { // the root first
            std::int32_t const at = ready[head], link = entry(at, end);
            std::int32_t const there = link >= 0 ? graph.next_switch(link) : none;
            crossing[at] = at == wanted || (there >= 0 && crossing[there]);
        }
    }

    // Links between switches on the route from a switch to a host.
    void follow(std::int32_t at, std::int32_t end) {
        way.clear();
        for (std::int32_t hop = 0; hop < graph.switches && at >= 0; ++hop) {
            std::int32_t const link = entry(at, end);
            if (link < 0)
                return;
            way.push_back(link);
            at = graph.next_switch(link);
        }
    }

    // Position on the present path of the first link from a switch; the path's length if there is none.
    std::size_t joins(std::int32_t at) const {
        std::size_t place = 0;
        while (place < way.size() && graph.source[way[place]] - graph.hosts != at)
            ++place;
        return place;
    }

    // Change of the sum if `moved` units go over `link` instead of the present path, up to where both paths merge.
    double gain(std::int32_t link, std::int32_t end, double moved) const {
        double burden = 0;
        for (std::int32_t hop = 0; hop < graph.switches && link >= 0; ++hop) {
            burden += power(link, moved) - power(link, 0);
            std::int32_t const at = graph.next_switch(link);
            std::size_t const place = at < 0 ? way.size() : joins(at);
            if (at < 0 || place < way.size()) {
                for (std::size_t before = 0; before < place; ++before)
                    burden += power(way[before], -moved) - power(way[before], 0);
                return place > 0 ? -burden : 0; // back at the switch itself: a loop
            }
            link = entry(at, end);
        }
        return 0;
    }

    void try_at(std::int32_t at, std::int32_t end, Change &best) {
        follow(at, end);
        if (way.empty()) { // a switch without an entry for this host: its cable failed
            return;
        }
        Ports const &ports = ways.ports();
        for (std::int32_t place = ports.first[at]; place < ports.first[at + 1]; ++place) {
            std::int32_t const link = ports.link[place];
            if (link == way.front() || !ways.allowed(graph.leaf[end], at, link))
                continue;
            double const value = gain(link, end, flow[at]);
            if (value > best.gain)
                best = {value, at, end, link};
        }
    }

    // The best change for each host whose routes cross the slowest link, best first.
    std::vector<Change> changes_around(std::int32_t hot) {
        std::vector<Change> found;
        std::int32_t const from = graph.source[hot] - graph.hosts;
        for (std::int32_t end = 0; end < graph.hosts; ++end) {
            if (graph.leaf[end] < 0 || entry(from, end) != hot)
                continue;
            Change best;
            std::int32_t const count = flows(end);
            find_crossing(end, from, count);
            for (std::int32_t head = 0; head < count; ++head)
                if (flow[ready[head]] > 0 && crossing[ready[head]])
                    try_at(ready[head], end, best);
            if (best.link >= 0)
                found.push_back(best);
        }
        std::sort(found.begin(), found.end(), [](Change const &a, Change const &b) { return a.gain > b.gain; });
        return found;
    }

    // Applies the best change around the slowest link; on a large fabric, where the search takes long, several at a
    // time, each of which must still help after those before. Too many at a time overload the next links (measured: the
    // shift of 648 hosts took 3.6 instead of 3.1). Returns the number of changes applied.
    std::int32_t relieve_fullest(std::int32_t most, std::int32_t *changes) {
        std::int32_t const hot = hottest();
        if (hot < 0 || load[hot] == 0)
            return 0;
        hottest_time = load[hot] * slowness[hot];
        most = std::min(most, std::max(1, graph.hosts / 500));
        std::int32_t count = 0;
        for (Change const &change : changes_around(hot)) {
            if (count == most)
                break;
            flows(change.end);
            follow(change.at, change.end);
            if (gain(change.link, change.end, flow[change.at]) <= Change{}.gain)
                continue;
            apply(change);
            changes[3 * count] = change.at;
            changes[3 * count + 1] = change.end;
            changes[3 * count + 2] = change.link;
            ++count;
        }
        return count;
    }

    void apply(Change const &change) {
        double const moved = flow[change.at]; // as set by flows(change.end)
        auto const add = [&](double amount) {
            for (std::int32_t at = change.at; at >= 0;) {
                std::int32_t const link = entry(at, change.end);
                if (link < 0) { // the present route ends at a cable that failed
                    return;
                }
                load[link] += amount;
                at = graph.next_switch(link);
            }
        };
        add(-moved);
        entry(change.at, change.end) = change.link;
        add(moved);
    }
};

} // namespace

// Changes at most `most` entries of forward (switches x hosts); writes them (most x 3: switch, host, link). Returns
// their number: fewer if no single change helps any more.
WEFT_ROUTE_API std::int32_t weft_route_relieve(Graph const *graph, std::int32_t const *rank, double const *slowness,
                                               std::int32_t most, std::int32_t *forward, std::int32_t *changes) {
    Ways const ways(*graph, rank);
    Reliever reliever(*graph, ways, slowness, forward);
    reliever.sum_up();
    std::int32_t total = 0;
    while (total < most) {
        std::int32_t const done = reliever.relieve_fullest(most - total, changes + std::ptrdiff_t(3) * total);
        if (done == 0)
            break;
        total += done;
    }
    reliever.write(forward);
    return total;
}

} // namespace weft::route
