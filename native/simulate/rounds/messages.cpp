// SPDX-License-Identifier: BSD-3-Clause
// Messages of ranks: they begin when both ends have come, and end one wait each. Their costs are those of
// ../machine/costs.cpp.
#include "ranks.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace weft::rounds {

namespace {
constexpr std::int32_t copying = -1; // the sender of a copy
} // namespace

std::int32_t Ranks::new_message(Message const &message) {
    if (free_.empty()) {
        free_.push_back(std::int32_t(messages_.size()));
        messages_.emplace_back();
    }
    auto const index = free_.back();
    free_.pop_back();
    messages_[std::size_t(index)] = message;
    return index;
}

void Ranks::count_up(Rank &rank, Act const &act, bool detached) {
    if (act.what == Does::receive) {
        auto const stage = std::size_t(act.amount);
        if (rank.due.size() <= stage)
            rank.due.resize(stage + 1, 0);
        ++rank.due[stage];
    }
    if (detached) // over at once
        return;
    ++rank.under_way;
    rank.sent_bytes += act.what == Does::send ? act.amount : 0;
}

// A message is under way once both ranks have come to it.
void Ranks::post(std::int32_t me, Act const &act) {
    auto const receives = act.what == Does::receive;
    auto const from = receives ? act.peer : me, to = receives ? me : act.peer;
    auto const bytes = receives ? 0 : act.amount;
    auto const stage = receives ? std::int32_t(act.amount) : -1;
    auto &rank = ranks_[std::size_t(me)];
    auto const key = (std::uint64_t(from + 1) << 32 | std::uint64_t(to)) << 1 | std::uint64_t(rank.call % 2);
    auto const detached = !receives && bytes < options_.eager_bytes;
    count_up(rank, act, detached);
    auto &first = waiting_[key];
    if (first >= 0 && messages_[std::size_t(first)].arrived != receives) {
        auto const index = first;
        auto &message = messages_[std::size_t(index)];
        if (message.next < 0)
            waiting_.erase(key);
        else
            first = message.next;
        if (receives)
            message.stage = stage;
        else {
            message.bytes = bytes;
            message.detached = detached;
        }
        return start(index);
    }
    auto const index = new_message({from, to, -1, stage, detached, receives, bytes});
    if (first < 0) {
        first = index;
        return;
    }
    auto last = first;
    while (messages_[std::size_t(last)].next >= 0)
        last = messages_[std::size_t(last)].next;
    messages_[std::size_t(last)].next = index;
}

void Ranks::start(std::int32_t index) {
    auto &message = messages_[std::size_t(index)];
    message.path = flows_.path(slot_[std::size_t(message.from == copying ? message.to : message.from)],
                               slot_[std::size_t(message.to)]);
    if (auto const latency_s = flows_.latency_s(message.path); latency_s > 0)
        calendar_.add(now_s_ + latency_s, {Happens::begin, index});
    else
        flows_.add(message.path, index, message.bytes, now_s_);
}

void Ranks::end(std::int32_t index) {
    auto const message = messages_[std::size_t(index)];
    free_.push_back(index);
    if (message.from == copying) {
        ready_.push_back(message.to);
        return;
    }
    count_down(message.to, message, Does::receive);
    if (!message.detached)
        count_down(message.from, message, Does::send);
}

void Ranks::count_down(std::int32_t index, Message const &message, Does end) {
    auto &rank = ranks_[std::size_t(index)];
    --rank.under_way;
    if (end == Does::receive) {
        --rank.due[std::size_t(message.stage)];
        if (message.stage < rank.waits_stages)
            --rank.waits_for;
    } else
        rank.sent_bytes -= message.bytes;
    if (rank.waits && (rank.waits_for_all ? rank.under_way == 0 : rank.waits_for == 0)) {
        rank.waits = false;
        ready_.push_back(index);
    }
}

// A copy inside a rank's node; the rank goes on when it ends. True if there is nothing to copy.
bool Ranks::copy(std::int32_t index, double bytes) {
    if (bytes <= 0)
        return true;
    start(new_message({copying, index, -1, -1, false, true, bytes}));
    return false;
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

extern "C" __attribute__((visibility("default"))) std::int64_t
weft_route_rounds(char const *machine, std::int32_t ranks, std::int32_t const *slot, std::int32_t count,
                  weft::rounds::Call const *calls, double const *options, double *begin_s, double *end_s, char *why,
                  std::int64_t room) {
    using namespace weft;
    try {
        auto const net = simulate::read_description(machine);
        rounds::Ranks all(net, {slot, std::size_t(ranks)}, {calls, std::size_t(count)},
                          {options[0], options[1], options[2]}, {begin_s, end_s});
        all.run();
        return all.messages();
    } catch (std::exception const &error) {
        auto const text = std::string(error.what());
        why[text.copy(why, std::size_t(room) - 1)] = '\0';
        return -1;
    }
}
