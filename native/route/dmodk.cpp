// SPDX-License-Identifier: BSD-3-Clause
// D-mod-k over any graph, by the numbers that src/weft/route/improve.py gives switches.
#include "ways.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace weft::route {
namespace {

struct DModK {
    Graph const &graph;
    std::int32_t const *level;         // switches
    std::int64_t const *number;        // links: of the switch that it leads to, among its siblings
    std::int64_t const *most, *stride; // switches: siblings above; consecutive destinations over one link
    std::int64_t const *rank;          // hosts: in the order of the leaves
    Ways ways;
    std::vector<std::int32_t> by_port; // links between switches, as `ways.ports().first` divides them
    std::vector<std::int32_t> nearer, peers, same;

    DModK(Graph const &given, std::int32_t const *source_port, std::int32_t const *heights, std::int64_t const *numbers,
          std::int64_t const *siblings, std::int64_t const *strides, std::int64_t const *ranks)
        : graph(given), level(heights), number(numbers), most(siblings), stride(strides), rank(ranks),
          ways(given, nullptr), by_port(ways.ports().link) {
        for (std::int32_t at = 0; at < graph.switches; ++at)
            std::sort(by_port.begin() + ways.ports().first[at], by_port.begin() + ways.ports().first[at + 1],
                      [&](auto a, auto b) { return std::pair(source_port[a], a) < std::pair(source_port[b], b); });
    }

    // Links from a switch that lead one hop nearer to `home`, by port, and the switches that they lead to.
    void find_nearer(std::int32_t home, std::int32_t at) {
        nearer.clear();
        for (auto place = ways.ports().first[at]; place < ways.ports().first[at + 1]; ++place)
            if (ways.allowed(home, at, by_port[place]))
                nearer.push_back(by_port[place]);
        peers.clear();
        for (auto const link : nearer)
            if (std::find(peers.begin(), peers.end(), graph.next_switch(link)) == peers.end())
                peers.push_back(graph.next_switch(link));
    }

    // The sibling that an end wants, or, where that does not lead there, another one: each of them for as many ends,
    // and for each end from as many switches, so that no link carries twice what the others do.
    std::int32_t choose(std::int32_t at, std::int32_t lower, std::int32_t end) {
        auto const round = rank[end] / (stride[at] * most[at]), wanted = rank[end] / stride[at] % most[at];
        auto const turn = rank[end] / (stride[lower] * most[lower]);
        auto const keep = [&](auto fits) {
            same.clear();
            std::copy_if(nearer.begin(), nearer.end(), std::back_inserter(same), fits);
        };
        keep([&](auto link) { return number[link] == wanted; });
        if (same.empty()) {
            auto const other = peers[std::size_t(round + wanted + at) % peers.size()];
            keep([&](auto link) { return graph.next_switch(link) == other; });
        }
        return same[std::size_t(turn) % same.size()]; // parallel cables to the chosen switch
    }

    void fill(std::int32_t *forward) {
        std::vector<std::vector<std::int32_t>> ends(std::size_t(graph.switches));
        for (std::int32_t host = 0; host < graph.hosts; ++host)
            if (graph.leaf[host] >= 0)
                ends[std::size_t(graph.leaf[host])].push_back(host);
        for (std::int32_t home = 0; home < graph.switches; ++home)
            for (std::int32_t at = 0; at < graph.switches && !ends[std::size_t(home)].empty(); ++at) {
                auto *row = forward + std::int64_t(at) * graph.hosts;
                find_nearer(home, at);
                // The lower switch chooses among parallel cables by destination, the same cable up and down.
                auto const ahead = nearer.empty() ? at : graph.next_switch(nearer.front());
                for (auto const end : ends[std::size_t(home)])
                    if (at == home)
                        row[end] = graph.delivery[end];
                    else if (!nearer.empty())
                        row[end] = choose(at, level[ahead] < level[at] ? ahead : at, end);
            }
    }
};

} // namespace

// `forward`: filled with -1 by the caller.
WEFT_ROUTE_API void weft_route_d_mod_k(Graph const *graph, std::int32_t const *source_port, std::int32_t const *level,
                                       std::int64_t const *number, std::int64_t const *most, std::int64_t const *stride,
                                       std::int64_t const *rank, std::int32_t *forward) {
    DModK(*graph, source_port, level, number, most, stride, rank).fill(forward);
}

} // namespace weft::route
