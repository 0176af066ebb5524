// SPDX-License-Identifier: BSD-3-Clause
// Routes between hosts: their links in a table of leaves x hosts, since hosts on one switch share them, or, of fabrics
// for which that table is too large, followed through the forwarding tables.
#pragma once

#include "graph.hpp"

namespace weft::route {

// The results of weft_route_lengths and weft_route_paths; the same struct in src/weft/route/library.py.
struct Paths {
    std::int32_t depth;        // links between switches of the longest route
    std::int32_t const *row;   // hosts: row of a host's switch, -1 = none
    std::int32_t const *link;  // leaf switches x hosts x depth: links between switches; null where they are not kept
    std::int8_t const *length; // leaf switches x hosts: links between switches, negative = no route
};

// Calls use(link) for each of the first `length` links from a switch to a host.
template <class Use> void follow(Graph const &graph, std::int32_t at, std::int32_t end, std::int32_t length, Use use) {
    for (std::int32_t hop = 0; hop < length; ++hop) {
        std::int32_t const link = graph.forward[std::int64_t(at) * graph.hosts + end];
        use(link);
        at = graph.next_switch(link);
    }
}

// The links of one message, with the hosts' own links first and last.
struct Walker {
    Graph const &graph;
    Paths const &paths;

    // Calls use(link) for each link from host to host; false if there is no route.
    template <class Use> bool each(std::int32_t from, std::int32_t to, Use use) const {
        std::int32_t const row = paths.row[from];
        if (row < 0)
            return false;
        std::int64_t const place = std::int64_t(row) * graph.hosts + to;
        std::int32_t const length = paths.length[place];
        if (length < 0)
            return false;
        use(graph.uplink[from]);
        if (paths.link == nullptr)
            follow(graph, graph.leaf[from], to, length, use);
        for (std::int32_t hop = 0; paths.link != nullptr && hop < length; ++hop)
            use(paths.link[place * paths.depth + hop]);
        use(graph.delivery[to]);
        return true;
    }
};

} // namespace weft::route
