// SPDX-License-Identifier: BSD-3-Clause
// The costs are those of ../machine/costs.cpp and copies.cpp, charged at the same moments.
#include "ranks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>

namespace weft::rounds {

namespace {
constexpr double line_bytes = 64;
constexpr double exact_s = 1e-10;
constexpr std::size_t befores = 3; // ways to come to a call

bool alike(Call const &a, Call const &b) {
    auto const key = [](Call const &call) {
        return std::tuple(call.algorithm, call.own, call.parameter, call.second, call.asked, call.itself, call.bytes,
                          call.blocks);
    };
    return key(a) == key(b);
}

alltoall::Nodes nodes_of(std::span<std::int32_t const> slot, std::int32_t ranks_per_node) {
    std::vector<int> labels;
    for (auto const each : slot)
        labels.push_back(each / ranks_per_node);
    return alltoall::Nodes(labels);
}
} // namespace

Ranks::Ranks(simulate::Description const &net, std::span<std::int32_t const> slot, std::span<Call const> calls,
             Options const &options, Times times)
    : net_(net), slot_(slot), calls_(calls), options_(options), times_(times),
      flows_(net, options.path_bytes, options.coarse, calendar_), nodes_(nodes_of(slot, net.ranks_per_node)),
      met_(std::size_t(nodes_.count()) + 1), ranks_(slot.size()),
      adapter_free_s_(net.hosts.size() * std::size_t(net.rails), 0) {
    for (auto const algorithm : {Algorithm::barrier, Algorithm::together, Algorithm::barrier_of_later}) {
        Call before{};
        before.algorithm = std::int32_t(algorithm);
        schedules_.push_back(schedule_of(before, nodes_));
    }
    for (auto call = calls.begin(); call != calls.end(); ++call) { // the samples of an operation share theirs
        auto const same = std::find_if(calls.begin(), call, [&](Call const &other) { return alike(other, *call); });
        schedules_.push_back(same == call ? schedule_of(*call, nodes_)
                                          : schedules_[befores + std::size_t(same - calls.begin())]);
    }
    if (auto const slots = std::int64_t(net.host_count()) * net.ranks_per_node;
        net.connections.cost_s > 0 && slots > net.connections.most_eager)
        open_neighbours();
}

// The library's start-up connects those that its barrier connects.
void Ranks::open_neighbours() {
    open_.resize(slot_.size() * slot_.size(), false);
    auto const p = net_.connections.start_up == "barrier" ? std::int64_t(slot_.size()) : 0;
    for (std::int64_t reach = 1; reach < p; reach *= 2)
        for (std::int64_t rank = 0; rank < p; ++rank)
            open_[pair(std::int32_t(rank), std::int32_t((rank + reach) % p))] = true;
}

std::size_t Ranks::pair(std::int32_t a, std::int32_t b) const {
    auto const [low, high] = std::minmax(a, b);
    return std::size_t(low) * slot_.size() + std::size_t(high);
}

Call const &Ranks::call_of(Rank const &rank) const {
    static Call const barrier{};
    return rank.done || rank.call % 2 == 0 ? barrier : calls_[std::size_t(rank.call / 2)];
}

Schedule const &Ranks::schedule(Rank const &rank) const {
    auto const number = std::size_t(rank.call / 2);
    return *schedules_[rank.call % 2 == 1 ? number + befores : std::size_t(calls_[number].cold)];
}

void Ranks::run() {
    for (auto rank = std::int32_t(slot_.size()); rank-- > 0;)
        ready_.push_back(rank);
    std::vector<Event> events;
    while (true) {
        while (!ready_.empty()) {
            // in the order in which they became ready
            auto batch = std::exchange(ready_, {});
            std::sort(batch.begin(), batch.end());
            for (auto const rank : batch)
                go_on(rank);
        }
        flows_.share(now_s_);
        if (calendar_.empty())
            break;
        now_s_ = calendar_.next_s();
        auto const near_s = together_s(), until_s = now_s_ + near_s;
        while (!calendar_.empty() && calendar_.next_s() <= until_s) {
            calendar_.take(events);
            for (auto const &event : events) {
                if (event.what == Happens::wake) {
                    ready_.push_back(event.id);
                } else if (event.what == Happens::begin) {
                    auto const &message = messages_[std::size_t(event.id)];
                    flows_.add(message.path, event.id, message.bytes, now_s_);
                } else {
                    ended_.clear();
                    flows_.finish(event, now_s_, 2 * near_s, ended_);
                    for (auto const message : ended_)
                        end(message);
                }
            }
        }
    }
    auto const stuck = std::find_if(ranks_.begin(), ranks_.end(), [](Rank const &rank) { return !rank.done; });
    if (stuck != ranks_.end())
        throw std::runtime_error("rank " + std::to_string(stuck - ranks_.begin()) + " waits for ever in call " +
                                 std::to_string(stuck->call / 2));
}

// What ends within it ends together.
double Ranks::together_s() const {
    auto const bytes = call_of(ranks_.front()).bytes * net_.ranks_per_node;
    auto const uplink = net_.uplink.front();
    auto const rate = uplink == simulate::none ? net_.memory_bytes_per_s : net_.links[std::size_t(uplink)].bytes_per_s;
    return std::max(exact_s, options_.coarse * bytes / rate);
}

// Runs a rank until it waits or sleeps.
void Ranks::go_on(std::int32_t index) {
    auto &rank = ranks_[std::size_t(index)];
    rank.waits = false;
    while (!rank.done) {
        if (rank.act == rank.acts.size()) {
            if (!next_step(index))
                return;
            continue;
        }
        if (!act(index, rank.acts[rank.act]))
            return;
        ++rank.act;
        rank.stage = Stage::settle;
    }
}

// False if the rank copies first what it owes.
bool Ranks::next_step(std::int32_t index) {
    auto &rank = ranks_[std::size_t(index)];
    auto const p = slot_.size();
    rank.acts.clear();
    rank.act = 0;
    if (schedule(rank).step(index, rank.step, rank.acts)) {
        ++rank.step;
        return true;
    }
    if (rank.owed_bytes > 0)
        return copy(index, std::exchange(rank.owed_bytes, 0));
    if (auto const call = std::size_t(rank.call / 2); rank.call % 2 == 1)
        times_.end_s[call * p + std::size_t(index)] = now_s_;
    ++rank.call;
    rank.step = 0;
    if (auto const call = std::size_t(rank.call / 2); rank.call % 2 == 1) {
        times_.begin_s[call * p + std::size_t(index)] = now_s_;
        if (auto const &its = calls_[call]; its.own == 0) // the own block: ../ranks/collectives.cpp
            rank.acts.push_back({Does::copy, -1, its.between(std::int32_t(p), index, index)});
    }
    rank.done = rank.call == 2 * std::int32_t(calls_.size());
    return true;
}

// Whether an act is over; otherwise the rank comes back to it, or its time is over when it does.
bool Ranks::act(std::int32_t index, Act const &act) {
    auto &rank = ranks_[std::size_t(index)];
    auto const &call = call_of(rank);
    if (act.what == Does::charge || act.what == Does::library) {
        if ((call.own != 0 && act.what == Does::charge) || net_.library_copies)
            rank.owed_bytes += std::ceil(act.amount / line_bytes) * line_bytes;
        return true;
    }
    if (rank.owed_bytes > 0 && (act.what == Does::send || call.own != 0))
        return copy(index, std::exchange(rank.owed_bytes, 0));
    switch (act.what) {
    case Does::meet:
    case Does::copy:
    case Does::sleep:
        if (rank.stage == Stage::post)
            return true;
        rank.stage = Stage::post;
        if (act.what == Does::sleep)
            sleep(index, act.amount);
        return act.what == Does::meet ? meet(index, act.peer) : act.what == Does::copy && copy(index, act.amount);
    case Does::all:
    case Does::received:
        return wait(rank, act);
    default:
        if (rank.stage == Stage::settle && !has_room(rank, act))
            return false;
        if (act.what == Does::send)
            return send(index, act);
        post(index, act);
        return true;
    }
}

// Whether the rank comes last; the others wait for it.
bool Ranks::meet(std::int32_t index, std::int32_t node) {
    auto const count = node < 0 ? slot_.size() : std::size_t(nodes_.size_of(node));
    if (++met_[std::size_t(node + 1)] < count)
        return false;
    met_[std::size_t(node + 1)] = 0;
    for (auto i = count; i-- > 0;)
        if (auto const other = node < 0 ? std::int32_t(i) : nodes_.members(node)[i]; other != index)
            ready_.push_back(other);
    return true;
}

// Whether nothing is left of what a rank waits for.
bool Ranks::wait(Rank &rank, Act const &act) {
    rank.waits_for_all = act.what == Does::all;
    rank.waits_stages = rank.waits_for_all ? 0 : std::int32_t(act.amount) + 1;
    rank.waits_for = 0;
    for (auto i = std::size_t(0); i < std::min(rank.due.size(), std::size_t(rank.waits_stages)); ++i)
        rank.waits_for += rank.due[i];
    rank.waits = (rank.waits_for_all ? rank.under_way : rank.waits_for) > 0;
    return !rank.waits;
}

// Whether a window has a free slot, and room for the bytes of a send; the rank waits for any of its messages otherwise.
// What has ended is not in the window: SlidingWindow of native/alltoall finds that before it waits.
bool Ranks::has_room(Rank &rank, Act const &act) {
    auto const &its = schedule(rank);
    auto const slots = its.slots();
    auto const bytes = act.what == Does::send ? act.amount : 0;
    if (slots == 0 ||
        (rank.under_way < slots && (bytes == 0 || rank.sent_bytes == 0 || rank.sent_bytes + bytes <= its.most_bytes())))
        return true;
    rank.waits = true;
    rank.waits_for_all = false;
    rank.waits_for = rank.waits_stages = 0;
    return false;
}

bool Ranks::send(std::int32_t index, Act const &act) {
    auto &rank = ranks_[std::size_t(index)];
    auto const apart =
        slot_[std::size_t(index)] / net_.ranks_per_node != slot_[std::size_t(act.peer)] / net_.ranks_per_node;
    if (rank.stage == Stage::settle) {
        ++sent_;
        rank.stage = Stage::connect;
    }
    if (rank.stage != Stage::pay && rank.stage != Stage::post && apart && !open_.empty() && !connect(index, act.peer))
        return false;
    if (rank.stage != Stage::post) {
        rank.stage = Stage::post;
        if (auto const seconds = apart ? cost_s(index, act.amount) : net_.message.inside_s; seconds > 0) {
            sleep(index, seconds);
            return false;
        }
    }
    post(index, act);
    return true;
}

} // namespace weft::rounds
