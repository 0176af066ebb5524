// SPDX-License-Identifier: BSD-3-Clause
// The costs are those of ../machine/costs.cpp and copies.cpp, charged at the same moments.
#include "ranks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace weft::rounds {

namespace {
constexpr double line_bytes = 64;
constexpr double exact_s = 1e-10;
constexpr std::size_t befores = 3; // ways to come to a call

bool alike(Call const &a, Call const &b) {
    return a.algorithm == b.algorithm && a.own == b.own && a.parameter == b.parameter && a.itself == b.itself &&
           a.bytes == b.bytes;
}
} // namespace

Ranks::Ranks(simulate::Description const &net, std::span<std::int32_t const> slot, std::span<Call const> calls,
             Options const &options, Times times)
    : net_(net), slot_(slot), calls_(calls), options_(options), times_(times),
      flows_(net, options.path_bytes, options.coarse, calendar_), ranks_(slot.size()),
      adapter_free_s_(net.hosts.size() * std::size_t(net.rails), 0) {
    auto const p = std::int32_t(slot.size());
    for (auto const algorithm : {Algorithm::barrier, Algorithm::together, Algorithm::barrier_of_later}) {
        Call before{};
        before.algorithm = std::int32_t(algorithm);
        schedules_.push_back(schedule_of(before, p));
    }
    for (auto call = calls.begin(); call != calls.end(); ++call) { // the samples of an operation share theirs
        auto const same = std::find_if(calls.begin(), call, [&](Call const &other) { return alike(other, *call); });
        schedules_.push_back(same == call ? schedule_of(*call, p)
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
    auto const number = std::size_t(rank.call / 2);
    auto const &schedule = *schedules_[rank.call % 2 == 1 ? number + befores : std::size_t(calls_[number].cold)];
    if (schedule.step(index, rank.step, rank.acts)) {
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
        if (auto const &its = calls_[call]; its.own == 0)
            rank.acts.push_back({Does::copy, -1, its.bytes}); // ../ranks/collectives.cpp: the own block
    }
    rank.done = rank.call == 2 * std::int32_t(calls_.size());
    return true;
}

// Whether an act is over; otherwise the rank comes back to it, or its time is over when it does.
bool Ranks::act(std::int32_t index, Act const &act) {
    auto &rank = ranks_[std::size_t(index)];
    auto const &call = call_of(rank);
    if (act.what == Does::charge) {
        if (call.own != 0 || net_.library_copies)
            rank.owed_bytes += std::ceil(act.bytes / line_bytes) * line_bytes;
        return true;
    }
    if (act.what == Does::meet) {
        if (rank.stage == Stage::post)
            return true;
        rank.stage = Stage::post;
        if (++met_ == slot_.size()) {
            met_ = 0;
            for (auto other = std::int32_t(slot_.size()); other-- > 0;)
                if (other != index)
                    ready_.push_back(other);
        }
        return met_ == 0;
    }
    if (act.what == Does::copy) {
        if (rank.stage == Stage::post)
            return true;
        rank.stage = Stage::post;
        return copy(index, act.bytes);
    }
    if (rank.owed_bytes > 0 && (act.what == Does::send || call.own != 0))
        return copy(index, std::exchange(rank.owed_bytes, 0));
    if (act.what == Does::all) {
        rank.waits = rank.waits_for_all = rank.under_way > 0;
        rank.unreaped = rank.waits ? rank.unreaped : 0;
        return !rank.waits;
    }
    if (rank.stage == Stage::settle && !has_room(rank))
        return false;
    if (act.what == Does::send)
        return send(index, act);
    post(act.peer, index, 0, true);
    return true;
}

// Whether a window has a free slot; the rank waits for any of its messages otherwise.
bool Ranks::has_room(Rank &rank) {
    auto const &call = call_of(rank);
    auto const slots = Algorithm(call.algorithm) == Algorithm::window ? 2 * call.parameter : 0;
    if (slots == 0 || rank.under_way + rank.unreaped < slots)
        return true;
    if (rank.unreaped > 0) {
        --rank.unreaped;
        return true;
    }
    rank.waits = true;
    rank.waits_for_all = false;
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
        if (auto const seconds = apart ? cost_s(index, act.bytes) : net_.message.inside_s; seconds > 0) {
            sleep(index, seconds);
            return false;
        }
    }
    post(index, act.peer, act.bytes, false);
    return true;
}

// As Contacts of ../machine/costs.cpp: the first end waits for both halves of the handshake, or for its own if the
// other one sends meanwhile.
bool Ranks::connect(std::int32_t index, std::int32_t peer) {
    auto &rank = ranks_[std::size_t(index)];
    auto const half_s = net_.connections.cost_s;
    auto const key = pair(index, peer);
    if (rank.stage == Stage::connect) {
        if (open_[key])
            return true;
        auto const [opening, alone] = opening_s_.try_emplace(key, now_s_ + 2 * half_s);
        rank.stage = Stage::meet;
        if (alone) {
            sleep(index, half_s);
            return false;
        }
        opening->second = std::min(opening->second, now_s_ + half_s);
    }
    if (auto const opening = opening_s_.find(key); !open_[key] && opening != opening_s_.end()) {
        if (opening->second > now_s_ + together_s()) {
            calendar_.add(opening->second, {Happens::wake, index});
            return false;
        }
        opening_s_.erase(opening);
    }
    open_[key] = true;
    rank.stage = Stage::pay;
    return true;
}

double Ranks::cost_s(std::int32_t from, double bytes) {
    auto const segment = net_.message.of(bytes);
    auto const seconds = segment.overhead_s + segment.s_per_byte * bytes;
    if (segment.gap_s <= 0)
        return seconds;
    auto const slot = slot_[std::size_t(from)];
    auto const node = slot / net_.ranks_per_node;
    auto &free_s = adapter_free_s_[std::size_t(node * net_.rails + slot % net_.ranks_per_node % net_.rails)];
    auto const start_s = std::max(now_s_, free_s);
    free_s = start_s + segment.gap_s;
    if (net_.gap_after_bytes)
        free_s += bytes / (net_.links[std::size_t(net_.uplink[std::size_t(node)])].bytes_per_s / net_.rails);
    return seconds + (start_s - now_s_);
}

} // namespace weft::rounds
