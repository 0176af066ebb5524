// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair rates, as SimGrid shares links: all messages between the same two nodes have one rate, so a path is one
// unknown however many messages it carries.
#pragma once

#include "../machine/description.hpp"
#include "calendar.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::rounds {

class Flows {
  public:
    // `path_bytes`: SimGrid's network/weight-S, by whose time on each link a message's share falls.
    // `coarse`: part by which shares may be too small, so that links that are about as full are full together.
    Flows(simulate::Description const &net, double path_bytes, double coarse, Calendar &calendar);

    // The path of a message between two rank slots, or of a copy within one; throws std::runtime_error without a route.
    std::int32_t path(std::int32_t from, std::int32_t to);
    double latency_s(std::int32_t path) const { return paths_[std::size_t(path)].latency_s; }

    void add(std::int32_t path, std::int32_t message, double bytes, double now_s);
    // Messages of a path that end within `together_s` are appended to `ended`.
    void finish(Event const &event, double now_s, double together_s, std::vector<std::int32_t> &ended);
    // Shares the links again that were touched, and plans the next ends.
    void share(double now_s);

  private:
    struct Pending {
        double at_bytes; // ends when its path has served so many
        std::int32_t message;
        bool operator>(Pending const &other) const { return at_bytes > other.at_bytes; }
    };
    struct Path {
        std::uint32_t first = 0, links = 0; // in link_of_ and place_of_
        double latency_s = 0, weight = 0;
        double served_bytes = 0, since_s = 0, bytes_per_s = 0;
        std::uint32_t version = 0, seen = 0;
        bool dirty = false;           // its first end may be another
        std::vector<Pending> pending; // a heap
    };
    struct Link {
        double bytes_per_s = 0;
        std::vector<std::int32_t> active; // paths with messages
        std::uint32_t seen = 0;
        double left = 0, weight = 0; // while sharing
    };

    std::int32_t add_path(std::vector<std::int32_t> const &links, double latency_s);
    void touch(Path const &path);
    void enter(std::int32_t index);
    void leave(std::int32_t index);
    void gather();
    void fill();
    void advance(Path &path, double now_s) const;

    simulate::Description const &net_;
    double path_bytes_, same_share_;
    Calendar &calendar_;
    std::int32_t memory_, core_, rail_out_, rail_in_; // first link of each kind; the network's come first
    std::vector<Link> links_;
    std::vector<Path> paths_;
    std::vector<std::int32_t> link_of_, place_of_;
    std::unordered_map<std::uint64_t, std::int32_t> known_;
    std::uint32_t epoch_ = 0;
    std::vector<std::int32_t> touched_, near_links_, near_paths_;
    std::vector<double> rate_;
};

} // namespace weft::rounds
