// SPDX-License-Identifier: BSD-3-Clause
#include "paths.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace weft::route {
namespace {

constexpr std::int8_t no_entry = -1, circle = -2, other_host = -3;
constexpr std::int32_t width = 32; // destinations at a time: two cache lines of each switch's table stay in the cache

// Calls work(row, end) for all rows and hosts, some destinations at a time.
template <class Work> void for_each_route(Graph const &graph, std::int32_t rows, Work work) {
    for_each((graph.hosts + width - 1) / width, graph.threads, [&](std::int32_t, std::int64_t block) {
        auto const first = std::int32_t(block) * width, last = std::min(first + width, graph.hosts);
        for (std::int64_t row = 0; row < rows; ++row)
            for (auto end = first; end < last; ++end)
                work(row, end);
    });
}

// Hops from a switch to a host along the tables; a negative code if they do not lead there.
std::int32_t steps(Graph const &graph, std::int32_t at, std::int32_t end) {
    std::int32_t const most = std::min<std::int32_t>(graph.switches, std::numeric_limits<std::int8_t>::max());
    for (std::int32_t count = 0; count <= most; ++count) {
        std::int32_t const link = graph.forward[std::int64_t(at) * graph.hosts + end];
        if (link < 0)
            return no_entry;
        if (graph.next_switch(link) < 0)
            return graph.target[link] == end ? count : other_host;
        at = graph.next_switch(link);
    }
    return circle;
}

} // namespace

// Length of the route from each of `rows` switches to each host (rows x hosts): links between switches, or -1 no entry,
// -2 a loop, -3 a wrong host. Returns the longest.
WEFT_ROUTE_API std::int32_t weft_route_lengths(Graph const *graph, std::int32_t const *at, std::int32_t rows,
                                               std::int8_t *length) {
    for_each_route(*graph, rows, [&](std::int64_t row, std::int32_t end) {
        length[row * graph->hosts + end] = std::int8_t(steps(*graph, at[row], end));
    });
    std::int8_t *last = length + std::int64_t(rows) * graph->hosts;
    return last == length ? 0 : std::max<std::int32_t>(0, *std::max_element(length, last));
}

// Links between switches of each of those routes (rows x hosts x depth); what is beyond its length stays as it is.
WEFT_ROUTE_API void weft_route_paths(Graph const *graph, std::int32_t const *at, std::int32_t rows, std::int32_t depth,
                                     std::int8_t const *length, std::int32_t *out) {
    for_each_route(*graph, rows, [&](std::int64_t row, std::int32_t end) {
        std::int64_t const route = row * graph->hosts + end;
        std::int32_t *next = out + route * depth;
        follow(*graph, at[row], end, length[route], [&](std::int32_t link) { *next++ = link; });
    });
}

// Marks each link that follows another directly on one of those routes, of those in `used` if it is given.
//   used   rows x hosts: whether a route counts, or null
//   place  links: number of a link among those out of its switch, below `most`
//   found  links x most: set to 1 at the first link and the place of the second
WEFT_ROUTE_API void weft_route_dependencies(Graph const *graph, std::int32_t const *at, std::int32_t rows,
                                            std::int8_t const *length, std::int8_t const *used,
                                            std::int32_t const *place, std::int64_t most, std::int8_t *found) {
    for_each_route(*graph, rows, [&](std::int64_t row, std::int32_t end) {
        std::int64_t const route = row * graph->hosts + end;
        std::int32_t before = none;
        follow(*graph, at[row], end, used == nullptr || used[route] != 0 ? length[route] : 0, [&](std::int32_t link) {
            if (before != none)
                std::atomic_ref(found[before * most + place[link]]).store(1, std::memory_order_relaxed);
            before = link;
        });
    });
}

} // namespace weft::route
