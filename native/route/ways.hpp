// SPDX-License-Identifier: BSD-3-Clause
// Which links a switch may take towards each leaf switch: those of a minimal route, or of a shortest up*/down* route.
#pragma once

#include "graph.hpp"

#include <vector>

namespace weft::route {

// Cost of a link from its time: steep enough that the slowest link of a path dominates.
inline double to_the_eighth(double value) {
    double const square = value * value, fourth = square * square;
    return fourth * fourth;
}

// Links between switches, by source switch.
struct Ports {
    std::vector<std::int32_t> first; // switches + 1
    std::vector<std::int32_t> link;

    explicit Ports(Graph const &graph);
};

// With `rank` (a total order of switches) routes go up to higher ranks first and down last, never up again: the
// dependencies between links then follow one order, so they have no cycle for any choice of routes.
class Ways {
  public:
    Ways(Graph const &given, std::int32_t const *rank_of);

    Ports const &ports() const { return ports_; }
    // Number of links of the shortest allowed route from a switch to switch `home`; `far` if there is none.
    std::int32_t distance(std::int32_t home, std::int32_t at) const { return distance_[index(home, at)]; }
    bool allowed(std::int32_t home, std::int32_t at, std::int32_t link) const;
    // Switches that reach `home`, nearest first, without `home` itself.
    void order(std::int32_t home, std::vector<std::int32_t> &near_first) const;

    static constexpr std::int16_t far = 32767;

  private:
    std::size_t index(std::int32_t home, std::int32_t at) const {
        return std::size_t(row_[home]) * graph_.switches + at;
    }
    void minimal(std::int32_t home);
    void up_down(std::int32_t home, std::vector<std::int32_t> const &high_first);
    std::vector<std::int32_t> spread(std::int32_t home, bool upwards_only);

    Graph const &graph_;
    std::int32_t const *rank_;
    Ports ports_;
    std::vector<std::int32_t> row_;      // switches: their row, of those with hosts
    std::vector<std::int16_t> distance_; // rows x switches
    std::vector<bool> down_;             // rows x switches: reached by going down only
};

} // namespace weft::route
