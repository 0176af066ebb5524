// SPDX-License-Identifier: BSD-3-Clause
// Routes from every leaf switch to every host: hosts on one switch share them, so a table of leaves x hosts is enough.
#pragma once

#include "graph.hpp"

namespace weft::route {

// The result of weft_route_paths; the same struct in src/weft/route/library.py.
struct Paths {
    std::int32_t rows;         // leaf switches
    std::int32_t depth;        // links between switches of the longest route
    std::int32_t const *row;   // hosts: row of a host's switch, -1 = none
    std::int32_t const *link;  // rows x hosts x depth: links between switches, padded with `links` (one past the last)
    std::int8_t const *length; // rows x hosts: links between switches, -1 = no route
};

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
        std::int32_t const *link = paths.link + place * paths.depth;
        use(graph.uplink[from]);
        for (std::int32_t hop = 0; hop < length; ++hop)
            use(link[hop]);
        use(graph.delivery[to]);
        return true;
    }
};

} // namespace weft::route
