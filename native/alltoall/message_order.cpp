// SPDX-License-Identifier: BSD-3-Clause
#include "matrix_order.hpp"

namespace weft::alltoall {

namespace {

class Listing {
  public:
    Listing(Nodes const &nodes, int me)
        : nodes_(nodes), home_(nodes.node_of(me)), local_(std::size_t(nodes.local_of(me))),
          met_(2 * std::size_t(nodes.count()), false) {}

    MessageOrder run(std::vector<Part> const &parts) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i == 2) {
                add_mates();
            }
            add(parts[i]);
        }
        if (parts.size() <= 2) {
            add_mates();
        }
        for (int step = 1; step < nodes_.count(); ++step) {
            int const to = (home_ + step) % nodes_.count(), from = (home_ - step + nodes_.count()) % nodes_.count();
            if (!met_[2 * std::size_t(from)]) {
                add({from, home_, 0, 1, 1, 0});
            }
            if (!met_[2 * std::size_t(to) + 1]) {
                add({home_, to, 0, 1, 1, 0});
            }
        }
        return std::move(made_);
    }

  private:
    void add(Part const &part) {
        bool const out = part.from == home_;
        met_[2 * std::size_t(out ? part.to : part.from) + (out ? 1 : 0)] = true;
        auto const senders = nodes_.members(part.from), receivers = nodes_.members(part.to);
        std::size_t const count = receivers.size();
        for (std::size_t step = 0; step < count; ++step) {
            if (out) {
                made_.sends.push_back({receivers[(local_ + step) % count], part});
                continue;
            }
            for (std::size_t l = (local_ + count - step) % count; l < senders.size(); l += count) {
                made_.receives.push_back({senders[l], part});
            }
        }
    }

    void add_mates() {
        auto const members = nodes_.members(home_);
        for (std::size_t step = 1; step < members.size(); ++step) {
            Part const whole{home_, home_, 0, 1, 1, 0};
            made_.sends.push_back({members[(local_ + step) % members.size()], whole});
            made_.receives.push_back({members[(local_ + members.size() - step) % members.size()], whole});
        }
    }

    Nodes const &nodes_;
    int home_;
    std::size_t local_;
    std::vector<bool> met_; // [2 node]: parts from it, [2 node + 1]: to it
    MessageOrder made_;
};

} // namespace

MessageOrder messages_of(std::vector<Part> const &parts, Nodes const &nodes, int me) {
    return Listing(nodes, me).run(parts);
}

} // namespace weft::alltoall
