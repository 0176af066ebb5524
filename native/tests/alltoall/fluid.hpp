// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "matrix_order.hpp"

#include <algorithm>
#include <vector>

namespace weft::alltoall {

/// Nodes that have `window` parts under way, each with the lesser of an equal share of both its ends.
class Fluid {
  public:
    Fluid(NodeMatrix const &matrix, int window)
        : window_(window), parts_(std::size_t(matrix.nodes)), out_(parts_.size(), 0), in_(parts_.size(), 0),
          next_(parts_.size(), 0) {
        for (std::size_t home = 0; home < parts_.size(); ++home) {
            for (Part const &part : matrix_order(matrix, int(home))) {
                if (part.from == int(home)) {
                    parts_[home].push_back(part);
                }
            }
            send(home);
        }
    }

    /// When the last byte has arrived, at one byte a time unit.
    double end() {
        double now = 0;
        for (; !flows_.empty(); now += step()) {
        }
        return now;
    }

  private:
    struct Flow {
        std::size_t from, to;
        double left;
    };

    double cost(Flow const &flow) const { return std::max(out_[flow.from], in_[flow.to]); }

    void send(std::size_t home) {
        for (; out_[home] < window_ && next_[home] < parts_[home].size(); ++next_[home]) {
            Part const &part = parts_[home][next_[home]];
            flows_.push_back({home, std::size_t(part.to), double(part.high - part.low)});
            ++out_[home];
            ++in_[std::size_t(part.to)];
        }
    }

    double step() {
        double least = 1e300;
        for (Flow const &flow : flows_) {
            least = std::min(least, flow.left * cost(flow));
        }
        for (Flow &flow : flows_) {
            flow.left -= least / cost(flow);
        }
        auto const ended = std::partition(flows_.begin(), flows_.end(), [](Flow const &f) { return f.left > 1e-3; });
        std::vector<Flow> const gone(ended, flows_.end());
        flows_.erase(ended, flows_.end());
        for (Flow const &flow : gone) {
            --out_[flow.from];
            --in_[flow.to];
        }
        for (Flow const &flow : gone) {
            send(flow.from);
        }
        return least;
    }

    int window_;
    std::vector<std::vector<Part>> parts_; // [sender]
    std::vector<int> out_, in_;            // under way
    std::vector<std::size_t> next_;
    std::vector<Flow> flows_;
};

} // namespace weft::alltoall
