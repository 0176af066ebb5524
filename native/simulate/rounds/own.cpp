// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls of native/alltoall without shared memory, for equal blocks; its pure parts decide here, too.
#include "own.hpp"

#include "../../alltoall/orders.hpp"
#include "../../alltoall/streams.hpp"

#include <stdexcept>
#include <string>

namespace weft::rounds {

void agree(Acts &acts, std::int32_t rank, std::int32_t ranks, std::int32_t times) {
    for (auto i = 0; i < times; ++i) { // in place: SMPI copies what a rank gives, rank 0's twice
        if (rank != 0)
            acts.push_back({Does::library, -1, sizeof(std::int64_t)});
        ask(acts, rank, ranks);
        if (rank == 0)
            acts.push_back({Does::library, -1, 2 * in_lines(sizeof(std::int64_t))});
        tell(acts, rank, ranks);
    }
}

namespace {

using alltoall::Nodes;
using alltoall::Order;

// flat.window and, with one step at a time, flat.pairwise.
class Window : public Schedule {
  public:
    Window(Nodes const &nodes, Call const &call)
        : p_(nodes.ranks()), call_(call), place_(std::size_t(p_)), sequence_{0} {
        auto const is_power = (p_ & (p_ - 1)) == 0;
        exclusive_ = Order(call.second) == Order::exclusive_or || (call.parameter == 0 && is_power);
        mutual_ = exclusive_ && !is_power;
        for (auto const &step : alltoall::steps_of(exclusive_ ? Order::shift : Order(call.second), 0, nodes))
            sequence_.push_back(step.to);
        for (std::size_t i = 0; i < sequence_.size(); ++i)
            place_[std::size_t(sequence_[i])] = std::int32_t(i);
    }
    std::int32_t slots() const override { return 2 * call_.parameter; }
    double most_bytes() const override {
        return call_.parameter > 0 ? in_flight_bytes : std::numeric_limits<double>::infinity();
    }
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const last = mutual_ ? p_ + 1 : p_; // a step of these has no partner
        if (s == 0)
            acts.push_back({Does::charge, -1, call_.between(p_, rank, rank)});
        else if (s < last) {
            auto const place = place_[std::size_t(rank)];
            auto const partner = mutual_ ? (s - 1 - rank + p_) % p_ : rank ^ s;
            auto const to = exclusive_ ? partner : sequence_[std::size_t((place + s) % p_)];
            auto const from = exclusive_ ? partner : sequence_[std::size_t((place - s + p_) % p_)];
            if (to == rank)
                return true;
            if (call_.between(p_, from, rank) > 0)
                acts.push_back({Does::receive, from});
            if (auto const bytes = call_.between(p_, rank, to); bytes > 0)
                acts.push_back({Does::send, to, bytes});
            if (call_.parameter == 0)
                acts.push_back({Does::all});
        } else if (s == last)
            acts.push_back({Does::all});
        else
            return false;
        return true;
    }

  private:
    static constexpr double in_flight_bytes = 1 << 22;

    std::int32_t p_;
    Call call_;
    bool exclusive_, mutual_;
    std::vector<std::int32_t> place_, sequence_;
};

class OwnBruck : public Schedule {
  public:
    OwnBruck(Nodes const &nodes, Call const &call)
        : p_(nodes.ranks()), call_(call), circle_(p_, call.parameter, call.second != 0),
          slice_(std::max<std::int64_t>(1, memory_bytes / p_ / std::int64_t(circle_.count() + 2))) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const each = circle_.count() + 2, part = s % each;
        auto const bytes = alltoall::fragment_bytes(std::int64_t(call_.bytes), s / each, slice_);
        if (bytes == 0)
            return false;
        if (s == 0)
            agree(acts, rank, p_, call_.asked);
        if (part == 0 || part == each - 1) // packed, taken out
            acts.push_back({Does::charge, -1, p_ * in_lines(double(bytes))});
        else
            circle_.round(acts, part - 1, rank, double(bytes), [](std::int32_t member) { return member; });
        return true;
    }

  private:
    static constexpr std::int64_t memory_bytes = 1 << 26;

    std::int32_t p_;
    Call call_;
    Circle circle_;
    std::int64_t slice_;
};

} // namespace

std::unique_ptr<Schedule> own_schedule_of(Call const &call, Nodes const &nodes) {
    switch (Algorithm(call.algorithm)) {
    case Algorithm::window:
        return std::make_unique<Window>(nodes, call);
    case Algorithm::own_bruck:
        return std::make_unique<OwnBruck>(nodes, call);
    case Algorithm::node_direct:
    case Algorithm::node_multi:
    case Algorithm::node_bruck:
        return node_schedule_of(call, nodes);
    default:
        throw std::runtime_error("no schedule " + std::to_string(call.algorithm));
    }
}

} // namespace weft::rounds
