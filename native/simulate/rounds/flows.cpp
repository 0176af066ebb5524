// SPDX-License-Identifier: BSD-3-Clause
#include "flows.hpp"

#include <algorithm>
#include <limits>

namespace weft::rounds {

Flows::Flows(simulate::Description const &net, double path_bytes, double coarse, Calendar &calendar)
    : net_(net), path_bytes_(path_bytes), same_share_(1 + std::max(1e-9, coarse)), calendar_(calendar) {
    auto const add = [&](double bytes_per_s) { links_.emplace_back().bytes_per_s = bytes_per_s; };
    for (auto const &link : net.links)
        add(link.bytes_per_s);
    memory_ = std::int32_t(links_.size());
    for (auto node = 0; node < net.host_count(); ++node)
        add(net.memory_bytes_per_s);
    core_ = std::int32_t(links_.size());
    if (net.core_bytes_per_s > 0)
        for (auto slot = 0; slot < net.host_count() * net.ranks_per_node; ++slot)
            add(net.core_bytes_per_s);
    rail_out_ = std::int32_t(links_.size());
    auto const rails = net.rails > 1 ? net.host_count() * net.rails : 0;
    rail_in_ = rail_out_ + rails;
    for (auto i = 0; i < 2 * rails; ++i)
        add(net.links[std::size_t(net.uplink[std::size_t(i % rails / net.rails)])].bytes_per_s / net.rails);
}

std::int32_t Flows::path(std::int32_t from, std::int32_t to) {
    auto const from_node = from / net_.ranks_per_node, to_node = to / net_.ranks_per_node;
    auto const rail = [&](std::int32_t slot) {
        return slot / net_.ranks_per_node * net_.rails + slot % net_.ranks_per_node % net_.rails;
    };
    auto const inside = from_node == to_node;
    // Above all keys of two rails are those of a node, or of the rank that copies
    auto const rails = std::uint64_t(net_.host_count()) * std::uint64_t(net_.rails);
    auto const copier = net_.core_bytes_per_s > 0 ? to : from_node;
    auto const key =
        inside ? rails * rails + std::uint64_t(copier) : std::uint64_t(rail(from)) * rails + std::uint64_t(rail(to));
    if (auto const found = known_.find(key); found != known_.end())
        return found->second;
    std::vector<std::int32_t> links;
    auto latency_s = net_.memory_latency_s;
    if (inside) {
        links.push_back(memory_ + from_node);
        if (net_.core_bytes_per_s > 0)
            links.push_back(core_ + to);
    } else {
        latency_s = 0;
        simulate::walk(net_, from_node, to_node, links);
        for (auto const link : links)
            latency_s += net_.links[std::size_t(link)].latency_s;
        if (net_.rails > 1) {
            links.push_back(rail_out_ + rail(from));
            links.push_back(rail_in_ + rail(to));
        }
    }
    return known_[key] = add_path(links, latency_s);
}

std::int32_t Flows::add_path(std::vector<std::int32_t> const &links, double latency_s) {
    auto &path = paths_.emplace_back();
    path.first = std::uint32_t(link_of_.size());
    path.links = std::uint32_t(links.size());
    path.latency_s = latency_s;
    auto penalty = latency_s;
    for (auto const link : links)
        penalty += path_bytes_ / links_[std::size_t(link)].bytes_per_s;
    path.weight = 1 / penalty;
    link_of_.insert(link_of_.end(), links.begin(), links.end());
    place_of_.resize(link_of_.size());
    return std::int32_t(paths_.size()) - 1;
}

void Flows::touch(Path const &path) {
    touched_.push_back(link_of_[path.first]); // one is enough: a path's links are shared together
}

void Flows::enter(std::int32_t index) {
    auto const &path = paths_[std::size_t(index)];
    for (auto k = path.first; k < path.first + path.links; ++k) {
        auto &active = links_[std::size_t(link_of_[k])].active;
        place_of_[k] = std::int32_t(active.size());
        active.push_back(index);
    }
}

void Flows::leave(std::int32_t index) {
    auto const &path = paths_[std::size_t(index)];
    for (auto k = path.first; k < path.first + path.links; ++k) {
        auto const link = link_of_[k];
        auto &active = links_[std::size_t(link)].active;
        auto const moved = active[std::size_t(place_of_[k])] = active.back();
        active.pop_back();
        touched_.push_back(link);
        auto const &other = paths_[std::size_t(moved)];
        for (auto j = other.first; j < other.first + other.links; ++j)
            if (link_of_[j] == link)
                place_of_[j] = place_of_[k];
    }
}

void Flows::advance(Path &path, double now_s) const {
    path.served_bytes += path.bytes_per_s * (now_s - path.since_s);
    path.since_s = now_s;
}

void Flows::add(std::int32_t index, std::int32_t message, double bytes, double now_s) {
    auto &path = paths_[std::size_t(index)];
    if (path.pending.empty()) {
        path.served_bytes = path.bytes_per_s = 0;
        path.since_s = now_s;
        enter(index);
    }
    advance(path, now_s);
    path.pending.push_back({path.served_bytes + bytes, message});
    std::push_heap(path.pending.begin(), path.pending.end(), std::greater<>());
    path.dirty = true;
    touch(path);
}

void Flows::finish(Event const &event, double now_s, double together_s, std::vector<std::int32_t> &ended) {
    auto &path = paths_[std::size_t(event.id)];
    if (path.version != event.version)
        return;
    advance(path, now_s);
    auto const by_bytes = path.served_bytes * (1 + 1e-12) + together_s * path.bytes_per_s;
    while (!path.pending.empty() && path.pending.front().at_bytes <= by_bytes) {
        ended.push_back(path.pending.front().message);
        std::pop_heap(path.pending.begin(), path.pending.end(), std::greater<>());
        path.pending.pop_back();
    }
    path.dirty = true;
    touch(path);
    if (path.pending.empty()) {
        leave(event.id);
        ++path.version;
    }
}

// All links that share a path with a touched one, directly or through others, and all their paths.
void Flows::gather() {
    ++epoch_;
    near_links_.clear();
    near_paths_.clear();
    auto const see = [&](std::int32_t link) {
        if (auto &each = links_[std::size_t(link)]; each.seen != epoch_) {
            each.seen = epoch_;
            each.left = each.bytes_per_s;
            each.weight = 0;
            near_links_.push_back(link);
        }
    };
    for (auto const link : touched_)
        see(link);
    touched_.clear();
    for (std::size_t i = 0; i < near_links_.size(); ++i)
        for (auto const index : links_[std::size_t(near_links_[i])].active) {
            auto &path = paths_[std::size_t(index)];
            if (path.seen == epoch_)
                continue;
            path.seen = epoch_;
            near_paths_.push_back(index);
            for (auto k = path.first; k < path.first + path.links; ++k)
                see(link_of_[k]);
        }
    for (auto const index : near_paths_) {
        auto const &path = paths_[std::size_t(index)];
        for (auto k = path.first; k < path.first + path.links; ++k)
            links_[std::size_t(link_of_[k])].weight += path.weight * double(path.pending.size());
    }
}

// Raises the rates of all near paths together, in proportion to their weights, until links are full.
void Flows::fill() {
    rate_.resize(paths_.size());
    for (auto const index : near_paths_)
        rate_[std::size_t(index)] = -1;
    auto open = near_links_;
    while (true) {
        auto least = std::numeric_limits<double>::infinity();
        std::erase_if(open, [&](std::int32_t index) {
            auto const &link = links_[std::size_t(index)];
            auto const idle = link.active.empty() || link.weight <= 0;
            if (!idle)
                least = std::min(least, link.left / link.weight);
            return idle;
        });
        if (open.empty())
            return;
        for (auto const at : open) {
            auto &full = links_[std::size_t(at)];
            if (full.weight <= 0 || full.left > least * same_share_ * full.weight)
                continue;
            for (auto const index : full.active) {
                if (rate_[std::size_t(index)] >= 0)
                    continue;
                auto const &path = paths_[std::size_t(index)];
                rate_[std::size_t(index)] = least * path.weight;
                auto const weight = path.weight * double(path.pending.size());
                for (auto k = path.first; k < path.first + path.links; ++k) {
                    auto &link = links_[std::size_t(link_of_[k])];
                    link.left -= least * weight;
                    link.weight -= weight;
                    if (link.weight < 1e-9 * weight)
                        link.weight = 0; // what rounding leaves of the last one
                }
            }
            full.weight = 0; // all of its paths have a rate
        }
    }
}

void Flows::share(double now_s) {
    if (touched_.empty())
        return;
    gather();
    fill();
    for (auto const index : near_paths_) {
        auto &path = paths_[std::size_t(index)];
        auto const rate = rate_[std::size_t(index)];
        if (!path.dirty && rate == path.bytes_per_s)
            continue;
        advance(path, now_s);
        path.bytes_per_s = rate;
        path.dirty = false;
        auto const left_bytes = std::max(0.0, path.pending.front().at_bytes - path.served_bytes);
        calendar_.add(now_s + left_bytes / rate, {Happens::finish, index, ++path.version});
    }
}

} // namespace weft::rounds
