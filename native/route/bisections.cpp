// SPDX-License-Identifier: BSD-3-Clause
// Effective bisection bandwidth: random halves, each host of one sends to one host of the other (Hoefler, Schneider,
// Lumsdaine, "Multistage switches are not crossbars", 2008). A flow gets its share of the most loaded link on its
// route.
#include "parallel.hpp"
#include "paths.hpp"

#include <algorithm>
#include <vector>

namespace weft::route {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a sample's numbers depend only on its own seed, not on threads.
struct Random {
    std::uint64_t state;

    std::uint64_t next() {
        std::uint64_t mixed = (state += 0x9e3779b97f4a7c15ULL);
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        return mixed ^ (mixed >> 31);
    }

    // Below `limit`, by multiplication (Lemire 2019); the bias is below limit / 2^32.
    std::uint32_t below(std::uint32_t limit) { return std::uint32_t(((next() >> 32) * limit) >> 32); }
};

} // namespace

// For each sample, the mean over its flows of the flow's rate over the rate that its two hosts' own links allow.
//   members   count: the hosts that take part; of an odd number one is idle
//   slowness  links: time of one unit over a link
// A flow without a route counts as 0.
WEFT_ROUTE_API void weft_route_bisections(Graph const *graph, Paths const *paths, std::int32_t count,
                                          std::int32_t const *members, std::int64_t samples, std::uint64_t seed,
                                          double const *slowness, double *share) {
    Walker const walker{*graph, *paths};
    std::int32_t const threads = std::max(1, graph->threads);
    std::vector<std::vector<std::int32_t>> orders(threads, std::vector<std::int32_t>(members, members + count));
    std::vector<std::vector<std::int32_t>> counts(threads, std::vector<std::int32_t>(graph->links));
    std::vector<std::vector<std::int32_t>> ways(threads); // the links of all flows, which are followed once
    for_each(samples, graph->threads, [&](std::int32_t thread, std::int64_t sample) {
        auto &order = orders[thread];
        std::int32_t *units = counts[thread].data();
        std::copy(members, members + count, order.begin());
        Random random{seed + 0xd1342543de82ef95ULL * std::uint64_t(sample + 1)};
        for (std::uint32_t at = std::uint32_t(count); at > 1; --at)
            std::swap(order[at - 1], order[random.below(at)]);
        std::fill_n(units, graph->links, 0);
        std::int32_t const half = count / 2;
        auto &way = ways[thread];
        way.clear();
        for (std::int32_t flow = 0; flow < half; ++flow) {
            walker.each(order[flow], order[half + flow], [&](std::int32_t used) {
                ++units[used];
                way.push_back(used);
            });
            way.push_back(none);
        }
        auto next = way.begin();
        double sum = 0;
        for (std::int32_t flow = 0; flow < half; ++flow) {
            double most = 0;
            for (; *next != none; ++next)
                most = std::max(most, units[*next] * slowness[*next]);
            ++next;
            std::int32_t const from = graph->uplink[order[flow]], to = graph->delivery[order[half + flow]];
            sum += most > 0 ? std::max(slowness[from], slowness[to]) / most : 0;
        }
        share[sample] = half > 0 ? sum / half : 1;
    });
}

} // namespace weft::route
