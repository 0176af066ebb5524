// SPDX-License-Identifier: BSD-3-Clause
// What the failure of each cable between switches does to an all-to-all. Of the routes over it only what must change
// does: a switch whose next hop still leads to the host in as many hops keeps it, others take a shortest remaining way,
// the farthest first, each by the loads that those before it left. A link costs (time)^8, as in reroute.cpp.
#include "parallel.hpp"
#include "ways.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::route {
namespace {

constexpr std::int32_t far = std::numeric_limits<std::int32_t>::max() / 2;

// The network of one thread: its loads are changed for one cable at a time, and restored.
class Broken {
  public:
    Broken(Graph const &graph, Ports const &ports, double const *slowness, std::int64_t const *load,
           std::vector<std::int32_t> const &slowest)
        : graph_(graph), ports_(ports), slowness_(slowness), slowest_(slowest), load_(load, load + graph.links),
          before_(graph.links, 0), touched_(graph.links, false), below_(graph.switches, 0), member_(graph.switches, -1),
          depth_(graph.switches, 0), hops_(depth_), known_(member_), distance_(depth_), plan_(graph.switches, none),
          flow_(graph.switches, 0) {
        for (std::int32_t host = 0; host < graph.hosts; ++host)
            if (graph.leaf[host] >= 0)
                ++below_[graph.leaf[host]];
        if (!slowest.empty())
            unit_ = std::max(unit_, double(load[slowest[0]]) * slowness[slowest[0]]);
    }

    struct Damage {
        double time;
        std::int32_t link;
        std::int64_t lost, changes;
    };

    // `forward`: null, or tables to change.
    Damage fail(std::int32_t cable, std::int32_t *forward) {
        Damage damage{0, none, 0, 0};
        dead_ = cable & ~1;
        for (auto const link : {dead_, dead_ ^ 1}) {
            auto const at = graph_.source[link] - graph_.hosts;
            for (std::int32_t end = 0; end < graph_.hosts; ++end)
                if (entry(at, end) == link && graph_.leaf[end] >= 0)
                    move(at, end, damage, forward);
        }
        auto const worse = [&](std::int32_t link) {
            if (auto const time = double(load_[link]) * slowness_[link]; time > damage.time) {
                damage.time = time;
                damage.link = link;
            }
        };
        for (auto const link : changed_)
            worse(link);
        auto const whole = std::find_if(slowest_.begin(), slowest_.end(), [&](auto link) { return !touched_[link]; });
        if (whole != slowest_.end())
            worse(*whole);
        for (auto const link : changed_) {
            load_[link] = before_[link];
            touched_[link] = false;
        }
        changed_.clear();
        return damage;
    }

  private:
    std::int32_t entry(std::int32_t at, std::int32_t end) const {
        return graph_.forward[std::int64_t(at) * graph_.hosts + end];
    }
    bool inside(std::int32_t at) const { return member_[at] == turn_; }
    bool is_dead(std::int32_t link) const { return (link & ~1) == dead_; }

    void add(std::int32_t link, std::int64_t more) {
        if (!touched_[link]) {
            touched_[link] = true;
            before_[link] = load_[link];
            changed_.push_back(link);
        }
        load_[link] += more;
    }

    double price(std::int32_t link, std::int64_t more) const {
        return to_the_eighth(1e-3 + double(load_[link] + more) * slowness_[link] / unit_);
    }

    // Calls use(link) for the links between switches from a switch to a host.
    template <class Use> void along(std::int32_t at, std::int32_t end, Use use) const {
        for (;;) {
            auto const link = inside(at) ? plan_[at] : entry(at, end);
            if (link < 0 || graph_.next_switch(link) < 0)
                return;
            use(link);
            at = graph_.next_switch(link);
        }
    }

    // Hops from a switch that is not inside to a host.
    std::int32_t hops(std::int32_t at, std::int32_t end) {
        if (known_[at] == turn_)
            return hops_[at];
        auto count = 0, here = at;
        auto link = entry(here, end);
        for (; link >= 0 && graph_.next_switch(link) >= 0 && count <= graph_.switches; ++count) {
            here = graph_.next_switch(link);
            link = entry(here, end);
        }
        known_[at] = turn_;
        return hops_[at] = link >= 0 && graph_.target[link] == end ? count : far;
    }

    // The switches whose routes to a host lead over the dead link of `at`, nearest to it first, and their flows.
    void gather(std::int32_t at, std::int32_t end) {
        ++turn_;
        inside_.assign(1, at);
        member_[at] = turn_;
        depth_[at] = 0;
        for (std::size_t i = 0; i < inside_.size(); ++i)
            for (auto k = ports_.first[inside_[i]]; k < ports_.first[inside_[i] + 1]; ++k) {
                auto const peer = graph_.next_switch(ports_.link[k]);
                if (!inside(peer) && entry(peer, end) == (ports_.link[k] ^ 1)) {
                    member_[peer] = turn_;
                    depth_[peer] = depth_[inside_[i]] + 1;
                    inside_.push_back(peer);
                }
            }
        for (auto const each : inside_)
            flow_[each] = below_[each] - (graph_.leaf[end] == each ? 1 : 0);
        for (auto i = inside_.size(); i-- > 1;)
            flow_[graph_.next_switch(entry(inside_[i], end))] += flow_[inside_[i]];
    }

    std::int32_t onward(std::int32_t link, std::int32_t end) {
        auto const peer = graph_.next_switch(link);
        return inside(peer) ? distance_[peer] : hops(peer, end);
    }

    // Distances without the dead link of those inside, by ever better guesses: routes are a few hops long.
    void measure(std::int32_t end) {
        for (auto const each : inside_)
            distance_[each] = far;
        for (auto better = true; better;) {
            better = false;
            for (auto const each : inside_)
                for (auto k = ports_.first[each]; k < ports_.first[each + 1]; ++k)
                    if (auto const link = ports_.link[k]; !is_dead(link) && onward(link, end) + 1 < distance_[each]) {
                        distance_[each] = onward(link, end) + 1;
                        better = true;
                    }
        }
    }

    // The cheapest of the shortest ways of a switch for `more` units; none if there is no way.
    std::int32_t best(std::int32_t at, std::int32_t end, std::int64_t more) {
        auto chosen = none;
        auto least = std::numeric_limits<double>::infinity();
        for (auto k = ports_.first[at]; distance_[at] < far && k < ports_.first[at + 1]; ++k) {
            auto const link = ports_.link[k];
            if (is_dead(link) || onward(link, end) + 1 != distance_[at])
                continue;
            auto cost = price(link, more);
            along(graph_.next_switch(link), end, [&](auto next) { cost += price(next, more); });
            if (cost < least) {
                least = cost;
                chosen = link;
            }
        }
        return chosen;
    }

    void move(std::int32_t at, std::int32_t end, Damage &damage, std::int32_t *forward) {
        gather(at, end);
        for (auto const each : inside_) // their old routes, the dead link among them
            plan_[each] = entry(each, end);
        auto const old = hops(graph_.next_switch(plan_[at]), end) + 1;
        if (flow_[at] == 0 || old >= far) // nobody's route, or it did not lead there
            return;
        distance_[at] = far;
        auto nearest = far;
        for (auto k = ports_.first[at]; k < ports_.first[at + 1]; ++k)
            if (auto const link = ports_.link[k]; !is_dead(link) && !inside(graph_.next_switch(link)))
                nearest = std::min(nearest, onward(link, end) + 1);
        if (nearest == old) { // what leads to `at` may stay
            for (auto const each : inside_)
                distance_[each] = far;
            distance_[at] = nearest;
            inside_.assign(1, at);
            along(at, end, [&](auto link) { add(link, -flow_[at]); });
            choose(at, end, flow_[at], damage, forward);
            return;
        }
        change_all(end, old, damage, forward);
    }

    void change_all(std::int32_t end, std::int32_t old, Damage &damage, std::int32_t *forward) {
        along(inside_[0], end, [&](auto link) { add(link, -flow_[inside_[0]]); });
        for (std::size_t i = 1; i < inside_.size(); ++i)
            add(plan_[inside_[i]], -flow_[inside_[i]]);
        measure(end);
        std::vector<std::size_t> order(inside_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return distance_[inside_[a]] < distance_[inside_[b]]; });
        std::vector<bool> keeps(inside_.size());
        for (auto const i : order) {
            auto const each = inside_[i];
            auto const was = old + depth_[each];
            keeps[i] = i > 0 && distance_[each] == was && onward(plan_[each], end) + 1 == was;
            if (!keeps[i])
                plan_[each] = best(each, end, 0);
        }
        for (auto const each : inside_)
            flow_[each] = 0;
        for (auto i = order.rbegin(); i != order.rend(); ++i) {
            auto const each = inside_[*i];
            auto const own = below_[each] - (graph_.leaf[end] == each ? 1 : 0), arrived = flow_[each];
            if (keeps[*i])
                along(each, end, [&](auto link) { pass(link, own); });
            else {
                along(each, end, [&](auto link) { pass(link, -arrived); });
                choose(each, end, arrived + own, damage, forward);
            }
        }
    }

    void pass(std::int32_t link, std::int64_t more) {
        add(link, more);
        flow_[graph_.next_switch(link)] += more;
    }

    void choose(std::int32_t at, std::int32_t end, std::int64_t more, Damage &damage, std::int32_t *forward) {
        plan_[at] = best(at, end, more);
        if (plan_[at] < 0)
            damage.lost += more;
        else
            along(at, end, [&](auto link) { pass(link, more); });
        damage.changes += plan_[at] == entry(at, end) ? 0 : 1;
        if (forward != nullptr)
            forward[std::int64_t(at) * graph_.hosts + end] = plan_[at];
    }

    Graph const &graph_;
    Ports const &ports_;
    double const *slowness_;
    std::vector<std::int32_t> const &slowest_; // links by time
    std::vector<std::int64_t> load_, before_;
    std::vector<bool> touched_;
    std::vector<std::int64_t> below_;                                           // switches: hosts
    std::vector<std::int32_t> member_, depth_, hops_, known_, distance_, plan_; // switches; of this `turn_`
    std::vector<std::int64_t> flow_;
    std::vector<std::int32_t> inside_, changed_;
    std::int32_t dead_ = none, turn_ = 0;
    double unit_ = 1;
};

} // namespace

// For each of `count` cables between switches (either of its links): the time of the slowest link of an all-to-all
// after its failure and that link, pairs that lose their route, changed entries. `load`: links, before. `forward`:
// null, or tables (switches x hosts) that are repaired for a single cable.
WEFT_ROUTE_API void weft_route_failures(Graph const *graph, double const *slowness, std::int64_t const *load,
                                        std::int32_t const *cables, std::int64_t count, double *time,
                                        std::int32_t *link, std::int64_t *lost, std::int64_t *changes,
                                        std::int32_t *forward) {
    Ports const ports(*graph);
    std::vector<std::int32_t> slowest(graph->links);
    std::iota(slowest.begin(), slowest.end(), 0);
    std::stable_sort(slowest.begin(), slowest.end(),
                     [&](auto a, auto b) { return double(load[a]) * slowness[a] > double(load[b]) * slowness[b]; });
    std::vector<Broken> each(std::max(1, graph->threads), Broken(*graph, ports, slowness, load, slowest));
    for_each(count, graph->threads, [&](std::int32_t thread, std::int64_t at) {
        auto const damage = each[thread].fail(cables[at], forward);
        time[at] = damage.time;
        link[at] = damage.link;
        lost[at] = damage.lost;
        changes[at] = damage.changes;
    });
}

} // namespace weft::route
