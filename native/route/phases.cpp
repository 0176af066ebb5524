// SPDX-License-Identifier: BSD-3-Clause
// Phases of algorithms that go through permutations: the slowest link of every phase, and loads summed over all phases.
#include "parallel.hpp"
#include "paths.hpp"

#include <algorithm>
#include <vector>

namespace weft::route {
namespace {

enum class Kind : std::int32_t { shift = 0, exchange = 1 };

// The rank that rank `from` sends to in a phase; -1 for none.
std::int64_t partner(Kind kind, std::int64_t from, std::int64_t phase, std::int64_t ranks) {
    if (kind == Kind::shift)
        return from + phase < ranks ? from + phase : from + phase - ranks;
    std::int64_t const to = from ^ phase;
    return to < ranks ? to : -1;
}

struct Totals {
    std::vector<std::int32_t> count;
    std::vector<std::int64_t> sum;
    std::int64_t lost = 0;
};

} // namespace

// Phases 1 ... phases: in phase k rank r sends to rank r + k (shift, modulo ranks) or to rank r xor k (exchange).
//   host      ranks: host of each rank; messages inside a host cross no link
//   slowness  links: time of one unit over a link
//   time      phases: time of the slowest link; link: which one, -1 = no traffic
//   load      links: units over each link, summed over the phases (added)
// Returns the messages without a route.
WEFT_ROUTE_API std::int64_t weft_route_phases(Graph const *graph, Paths const *paths, std::int32_t kind,
                                              std::int64_t ranks, std::int32_t const *host, std::int64_t phases,
                                              double const *slowness, double *time, std::int32_t *link,
                                              std::int64_t *load) {
    Walker const walker{*graph, *paths};
    Totals const empty{std::vector<std::int32_t>(graph->links), std::vector<std::int64_t>(graph->links)};
    std::vector<Totals> each(std::max(1, graph->threads), empty);
    for_each(phases, graph->threads, [&](std::int32_t thread, std::int64_t item) {
        auto &[count, sum, lost] = each[thread];
        std::int32_t *units = count.data();
        std::fill(count.begin(), count.end(), 0);
        for (std::int64_t from = 0; from < ranks; ++from) {
            std::int64_t const to = partner(Kind(kind), from, item + 1, ranks);
            if (to >= 0 && host[from] != host[to])
                lost += !walker.each(host[from], host[to], [units](std::int32_t used) { ++units[used]; });
        }
        double most = 0;
        for (std::int32_t at = 0; at < graph->links; ++at) {
            most = std::max(most, count[at] * slowness[at]);
            sum[at] += count[at];
        }
        time[item] = most;
        link[item] = none;
        for (std::int32_t at = 0; at < graph->links && most > 0 && link[item] < 0; ++at)
            if (count[at] * slowness[at] == most)
                link[item] = at;
    });
    std::int64_t lost = 0;
    for (auto const &mine : each) {
        lost += mine.lost;
        for (std::int32_t at = 0; at < graph->links; ++at)
            load[at] += mine.sum[at];
    }
    return lost;
}

} // namespace weft::route
