// SPDX-License-Identifier: BSD-3-Clause
// Phases of algorithms that go through permutations: the slowest link of every phase, and loads summed over all phases.
#include "parallel.hpp"
#include "paths.hpp"

#include <algorithm>
#include <functional>
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

// Messages on their way, a hop of each in turn: their reads of the tables, each far from the last, overlap.
struct Messages {
    static constexpr std::size_t most = 64;
    Graph const &graph;
    std::int32_t *units;
    std::int32_t at[most] = {}, end[most] = {}, left[most] = {};
    std::size_t count = 0;

    void add(std::int32_t leaf, std::int32_t target, std::int32_t length) {
        at[count] = leaf, end[count] = target, left[count] = length;
        if (++count == most)
            deliver();
    }
    void deliver() {
        for (std::size_t going = count; going > 0;) {
            going = 0;
            for (std::size_t i = 0; i < count; ++i) {
                if (left[i] <= 0)
                    continue;
                std::int32_t const link = graph.forward[std::int64_t(at[i]) * graph.hosts + end[i]];
                ++units[link];
                at[i] = graph.next_switch(link);
                going += --left[i] > 0;
            }
        }
        count = 0;
    }
};

constexpr std::int32_t flush_after = 64; // phases whose 32-bit sums are added up, for fewer than 2^25 ranks

struct Totals {
    std::vector<std::int32_t> count, few;
    std::vector<std::int64_t> sum;
    std::int64_t lost = 0;
    std::int32_t phases = 0;

    void flush() {
        std::transform(sum.begin(), sum.end(), few.begin(), sum.begin(), std::plus<>{});
        std::fill(few.begin(), few.end(), 0);
        phases = 0;
    }
};

// Counts each rank's message on the own links of its host, and takes back those that are not sent.
struct Own {
    Graph const &graph;

    void add(std::int32_t *units, std::int32_t link, std::int32_t more) const {
        if (link >= 0)
            units[link] += more;
    }
    void add(std::int32_t *units, std::int32_t from, std::int32_t to, std::int32_t more) const {
        add(units, graph.uplink[from], more);
        add(units, graph.delivery[to], more);
    }
};

// The first of the slowest links, none without traffic; adds the counts to `sums`. Blocks, so that a compiler can work
// on several links at once: a maximum of floating-point numbers is no sum that it may reorder.
std::int32_t slowest_link(std::vector<std::int32_t> const &count, double const *slowness,
                          std::vector<std::int32_t> &sums) {
    constexpr std::size_t lanes = 8, block = 64 * lanes;
    double most = 0;
    std::size_t found = count.size();
    for (std::size_t begin = 0; begin < count.size(); begin += block) {
        std::size_t const end = std::min(begin + block, count.size()), whole = end - (end - begin) % lanes;
        double part[lanes] = {};
        for (std::size_t at = begin; at < whole; at += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                double const time = count[at + lane] * slowness[at + lane];
                part[lane] = part[lane] < time ? time : part[lane];
                sums[at + lane] += count[at + lane];
            }
        for (std::size_t at = whole; at < end; ++at) {
            part[0] = std::max(part[0], count[at] * slowness[at]);
            sums[at] += count[at];
        }
        if (double const own = *std::max_element(part, part + lanes); own > most) {
            most = own;
            found = begin;
        }
    }
    while (found < count.size() && count[found] * slowness[found] != most)
        ++found;
    return found < count.size() ? std::int32_t(found) : none;
}

} // namespace

// Some phases: in phase k rank r sends to rank r + k (shift, modulo ranks) or to rank r xor k (exchange).
//   host      ranks: host of each rank; messages inside a host cross no link
//   number    phases: k of each
//   slowness  links: time of one unit over a link
//   time      phases: time of the slowest link; link: which one, -1 = no traffic
//   load      links: units over each link, summed over the phases (added)
// Returns the messages without a route.
WEFT_ROUTE_API std::int64_t weft_route_phases(Graph const *graph, Paths const *paths, std::int32_t kind,
                                              std::int64_t ranks, std::int32_t const *host, std::int64_t phases,
                                              std::int64_t const *number, double const *slowness, double *time,
                                              std::int32_t *link, std::int64_t *load) {
    Totals const empty{std::vector<std::int32_t>(graph->links), std::vector<std::int32_t>(graph->links),
                       std::vector<std::int64_t>(graph->links)};
    std::vector<Totals> each(std::max(1, graph->threads), empty);
    Own const own{*graph};
    auto every = empty.count;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        own.add(every.data(), host[rank], host[rank], 1);
    for_each(phases, graph->threads, [&](std::int32_t thread, std::int64_t item) {
        auto &[count, few, sum, lost, summed] = each[thread];
        std::int32_t *units = count.data();
        std::copy(every.begin(), every.end(), count.begin());
        Messages messages{*graph, units};
        for (std::int64_t from = 0; from < ranks; ++from) {
            std::int64_t const to = partner(Kind(kind), from, number[item], ranks);
            std::int32_t const source = host[from], target = to < 0 ? source : host[to], row = paths->row[source];
            std::int64_t const place = std::int64_t(row) * graph->hosts + target;
            std::int32_t const length = row < 0 || source == target ? -1 : paths->length[place];
            if (length < 0) { // also: a rank without a partner receives nothing either
                own.add(units, source, target, -1);
                lost += source != target;
            }
            for (std::int32_t hop = 0; paths->link != nullptr && hop < length; ++hop)
                ++units[paths->link[place * paths->depth + hop]];
            if (paths->link == nullptr && length > 0)
                messages.add(graph->leaf[source], target, length);
        }
        messages.deliver();
        auto const slowest = slowest_link(count, slowness, few);
        if (++summed == flush_after)
            each[thread].flush();
        link[item] = slowest;
        time[item] = slowest < 0 ? 0 : count[slowest] * slowness[slowest];
    });
    std::int64_t lost = 0;
    for (auto &mine : each) {
        mine.flush();
        lost += mine.lost;
        for (std::int32_t at = 0; at < graph->links; ++at)
            load[at] += mine.sum[at];
    }
    return lost;
}

} // namespace weft::route
