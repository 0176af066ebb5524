// SPDX-License-Identifier: BSD-3-Clause
#include "ways.hpp"

#include <algorithm>
#include <numeric>

namespace weft::route {

Ports::Ports(Graph const &graph) : first(graph.switches + 1, 0) {
    auto const between = [&graph](std::int32_t at) {
        return graph.source[at] >= graph.hosts && graph.target[at] >= graph.hosts &&
               graph.source[at] != graph.target[at];
    };
    for (std::int32_t at = 0; at < graph.links; ++at)
        if (between(at))
            ++first[graph.source[at] - graph.hosts + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    link.resize(first.back());
    std::vector<std::int32_t> place(first.begin(), first.end() - 1);
    for (std::int32_t at = 0; at < graph.links; ++at)
        if (between(at))
            link[place[graph.source[at] - graph.hosts]++] = at;
}

Ways::Ways(Graph const &given, std::int32_t const *rank_of)
    : graph_(given), rank_(rank_of), ports_(given), row_(given.switches, none) {
    std::int32_t rows = 0;
    for (std::int32_t host = 0; host < given.hosts; ++host)
        if (given.leaf[host] >= 0 && row_[given.leaf[host]] < 0)
            row_[given.leaf[host]] = rows++;
    distance_.assign(std::size_t(rows) * given.switches, far);
    std::vector<std::int32_t> high_first;
    if (rank_ != nullptr) {
        down_.assign(distance_.size(), false);
        high_first.resize(given.switches);
        std::iota(high_first.begin(), high_first.end(), 0);
        std::sort(high_first.begin(), high_first.end(), [this](auto a, auto b) { return rank_[a] > rank_[b]; });
    }
    for (std::int32_t at = 0; at < given.switches; ++at)
        if (row_[at] >= 0)
            rank_ == nullptr ? minimal(at) : up_down(at, high_first);
}

// Breadth-first from `home`; upwards_only steps only to higher ranks, so that the routes back only go down.
std::vector<std::int32_t> Ways::spread(std::int32_t home, bool upwards_only) {
    std::vector<std::int32_t> queue{home};
    distance_[index(home, home)] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        std::int32_t const at = queue[head];
        for (std::int32_t place = ports_.first[at]; place < ports_.first[at + 1]; ++place) {
            std::int32_t const there = graph_.next_switch(ports_.link[place]);
            if (distance_[index(home, there)] < far || (upwards_only && rank_[there] <= rank_[at]))
                continue;
            distance_[index(home, there)] = std::int16_t(distance_[index(home, at)] + 1);
            queue.push_back(there);
        }
    }
    return queue;
}

void Ways::minimal(std::int32_t home) {
    spread(home, false);
}

void Ways::up_down(std::int32_t home, std::vector<std::int32_t> const &high_first) {
    for (std::int32_t const at : spread(home, true))
        down_[index(home, at)] = true;
    for (std::int32_t const at : high_first) {
        if (down_[index(home, at)])
            continue;
        for (std::int32_t place = ports_.first[at]; place < ports_.first[at + 1]; ++place) {
            std::int32_t const there = graph_.next_switch(ports_.link[place]);
            std::int16_t const beyond = distance_[index(home, there)];
            if (rank_[there] > rank_[at] && beyond < far)
                distance_[index(home, at)] = std::min(distance_[index(home, at)], std::int16_t(beyond + 1));
        }
    }
}

bool Ways::allowed(std::int32_t home, std::int32_t at, std::int32_t link) const {
    std::int32_t const there = graph_.next_switch(link);
    if (there < 0 || distance(home, at) == far || distance(home, there) != distance(home, at) - 1)
        return false;
    if (rank_ == nullptr)
        return true;
    return down_[index(home, at)] ? down_[index(home, there)] && rank_[there] < rank_[at] : rank_[there] > rank_[at];
}

void Ways::order(std::int32_t home, std::vector<std::int32_t> &near_first) const {
    near_first.clear();
    for (std::int32_t at = 0; at < graph_.switches; ++at)
        if (at != home && distance(home, at) < far)
            near_first.push_back(at);
    std::stable_sort(near_first.begin(), near_first.end(),
                     [&](auto a, auto b) { return distance(home, a) < distance(home, b); });
}

} // namespace weft::route
