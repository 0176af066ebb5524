// SPDX-License-Identifier: BSD-3-Clause
// Minimal routes, spread by destination, over any graph: src/weft/fabric/network/minimal.py says which.
#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace weft::route {
namespace {

constexpr std::int32_t far = std::numeric_limits<std::int32_t>::max();
constexpr double least_load = 1e-3;

double eighth_power(double x) {
    auto const second = x * x, fourth = second * second;
    return fourth * fourth;
}

class Minimal {
  public:
    Minimal(Graph const &graph, std::int32_t const *source_port, std::int32_t const *target_port, double const *rate)
        : graph_(graph), leaf_(std::size_t(graph.hosts), none), delivery_(leaf_),
          injected_(std::size_t(graph.switches)), slowness_(std::size_t(graph.links), 1),
          price_(slowness_.size(), std::pow(least_load, 8)), load_(slowness_.size()), first_(injected_.size() + 1),
          distance_(injected_.size()), ahead_(injected_.size()), flow_(injected_.size()) {
        attach(target_port);
        connect(source_port);
        auto const known = std::all_of(rate, rate + graph.links, [](double each) { return std::isfinite(each); });
        auto const fastest = known && graph.links > 0 ? *std::max_element(rate, rate + graph.links) : 1;
        for (auto link = 0; known && link < graph.links; ++link)
            slowness_[std::size_t(link)] = fastest / rate[link];
        // One unit of cost: the fabric's traffic spread evenly over the links between its switches
        auto const all = std::accumulate(injected_.begin(), injected_.end(), 0.0);
        unit_ = std::max(1.0, all * all / std::max(1.0, double(out_.size())));
    }

    void fill(std::int32_t *forward) {
        std::vector<std::vector<std::int32_t>> hosts(injected_.size());
        for (auto host = 0; host < graph_.hosts; ++host)
            if (auto const home = leaf_[std::size_t(host)]; home != none)
                hosts[std::size_t(home)].push_back(host);
        for (auto home = 0; home < graph_.switches; ++home) {
            if (hosts[std::size_t(home)].empty())
                continue;
            measure(home);
            links_.resize(hosts[std::size_t(home)].size() * order_.size());
            auto *links = links_.data();
            for (auto const host : hosts[std::size_t(home)]) {
                links[0] = delivery_[std::size_t(host)];
                route(links);
                links += order_.size();
            }
            write(hosts[std::size_t(home)], forward);
        }
    }

  private:
    struct Way {
        std::int32_t link, peer;
    };
    struct Near {
        std::int32_t slot, peer; // of `out_`: prices of one switch's ways are beside each other
    };

    void attach(std::int32_t const *target_port) {
        for (auto link = 0; link < graph_.links; ++link) {
            auto const host = std::size_t(graph_.target[link]);
            if (graph_.source[link] < graph_.hosts || graph_.target[link] >= graph_.hosts)
                continue;
            auto &known = delivery_[host];
            if (known == none || target_port[link] < target_port[known]) // the lowest port wins
                known = link;
            leaf_[host] = graph_.source[known] - graph_.hosts;
        }
        for (auto const leaf : leaf_)
            if (leaf != none)
                ++injected_[std::size_t(leaf)];
    }

    void connect(std::int32_t const *source_port) {
        std::vector<std::int32_t> between;
        for (auto link = 0; link < graph_.links; ++link)
            if (graph_.source[link] >= graph_.hosts && graph_.target[link] >= graph_.hosts &&
                graph_.source[link] != graph_.target[link])
                between.push_back(link);
        std::stable_sort(between.begin(), between.end(), [&](auto a, auto b) {
            return std::pair(graph_.source[a], source_port[a]) < std::pair(graph_.source[b], source_port[b]);
        });
        for (auto const link : between) {
            out_.push_back({link, graph_.next_switch(link)});
            ++first_[std::size_t(graph_.source[link] - graph_.hosts) + 1];
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
    }

    // Distances to a switch, and the ways that lead one hop nearer to it.
    void measure(std::int32_t home) {
        std::fill(distance_.begin(), distance_.end(), far);
        distance_[std::size_t(home)] = 0;
        order_.assign(1, home); // links come in pairs, so what leads away from it leads to it
        for (std::size_t i = 0; i < order_.size(); ++i)
            for (auto k = first_[std::size_t(order_[i])]; k < first_[std::size_t(order_[i]) + 1]; ++k)
                if (auto &distance = distance_[std::size_t(out_[k].peer)]; distance == far) {
                    distance = distance_[std::size_t(order_[i])] + 1;
                    order_.push_back(out_[k].peer);
                }
        std::sort(order_.begin(), order_.end(), [&](auto a, auto b) {
            return std::pair(distance_[std::size_t(a)], a) < std::pair(distance_[std::size_t(b)], b);
        });
        nearer_.clear();
        nearer_first_.assign(1, 0);
        for (auto const at : order_) {
            for (auto k = first_[std::size_t(at)]; k < first_[std::size_t(at) + 1]; ++k)
                if (distance_[std::size_t(out_[k].peer)] < distance_[std::size_t(at)])
                    nearer_.push_back({std::int32_t(k), out_[k].peer});
            nearer_first_.push_back(nearer_.size());
        }
        chosen_.resize(order_.size());
    }

    double cheapest(std::size_t place, Near &way) const {
        auto least = std::numeric_limits<double>::infinity();
        for (auto k = nearer_first_[place]; k < nearer_first_[place + 1]; ++k) {
            auto const cost = price_[std::size_t(nearer_[k].slot)] + ahead_[std::size_t(nearer_[k].peer)];
            if (cost < least) {
                least = cost;
                way = nearer_[k];
            }
        }
        return least;
    }

    // Chooses a link for each switch towards one host, written to `links` in their order: the nearest first, since what
    // a switch chooses changes no price of those that are nearer.
    void route(std::int32_t *links) {
        ahead_[std::size_t(order_[0])] = 0;
        for (std::size_t place = 1; place < order_.size(); ++place)
            ahead_[std::size_t(order_[place])] = cheapest(place, chosen_[place]);
        flow_ = injected_;
        for (auto place = order_.size() - 1; place > 0; --place) {
            auto const at = std::size_t(order_[place]);
            auto const [slot, peer] = chosen_[place];
            auto const k = std::size_t(slot), link = std::size_t(out_[k].link);
            links[place] = out_[k].link;
            load_[k] += flow_[at];
            price_[k] = eighth_power(least_load + load_[k] * slowness_[link] / unit_);
            flow_[std::size_t(peer)] += flow_[at];
        }
    }

    // A row of the tables at a time: hosts of one leaf are mostly beside each other there.
    void write(std::vector<std::int32_t> const &hosts, std::int32_t *forward) const {
        for (std::size_t place = 0; place < order_.size(); ++place) {
            auto *row = forward + std::size_t(order_[place]) * std::size_t(graph_.hosts);
            for (std::size_t i = 0; i < hosts.size(); ++i)
                row[hosts[i]] = links_[i * order_.size() + place];
        }
    }

    Graph const &graph_;
    std::vector<std::int32_t> leaf_, delivery_;
    std::vector<double> injected_;                // hosts on each switch
    std::vector<double> slowness_, price_, load_; // the price and load of each of `out_`
    double unit_ = 1;
    std::vector<Way> out_; // of each switch, by port
    std::vector<std::size_t> first_;
    std::vector<std::int32_t> distance_, order_, links_;
    std::vector<double> ahead_, flow_;
    std::vector<Near> nearer_, chosen_;
    std::vector<std::size_t> nearer_first_;
};

} // namespace

// `forward`: filled with -1 by the caller, who sets `source` and `target` of the graph alone.
WEFT_ROUTE_API void weft_route_minimal(Graph const *graph, std::int32_t const *source_port,
                                       std::int32_t const *target_port, double const *rate, std::int32_t *forward) {
    Minimal(*graph, source_port, target_port, rate).fill(forward);
}

} // namespace weft::route
