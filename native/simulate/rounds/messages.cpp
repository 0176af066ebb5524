// SPDX-License-Identifier: BSD-3-Clause
// Messages of ranks: they begin when both ends have come, and end one wait each.
#include "ranks.hpp"

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

// A message is under way once both ranks have come to it.
void Ranks::post(std::int32_t from, std::int32_t to, double bytes, bool receives) {
    auto const barrier = std::uint64_t(ranks_[std::size_t(receives ? to : from)].call % 2);
    auto const key = (std::uint64_t(from + 1) << 32 | std::uint64_t(to)) << 1 | barrier;
    auto const detached = !receives && bytes < options_.eager_bytes;
    auto &rank = ranks_[std::size_t(receives ? to : from)];
    if (receives || !detached)
        ++rank.under_way;
    else if (Algorithm(call_of(rank).algorithm) == Algorithm::window)
        ++rank.unreaped; // over at once, but its slot is free only when a wait finds it
    auto &first = waiting_[key];
    if (first >= 0 && messages_[std::size_t(first)].arrived != receives) {
        auto const index = first;
        auto &message = messages_[std::size_t(index)];
        if (message.next < 0)
            waiting_.erase(key);
        else
            first = message.next;
        if (!receives) {
            message.bytes = bytes;
            message.detached = detached;
        }
        return start(index);
    }
    auto const index = new_message({from, to, -1, detached, receives, bytes});
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
    count_down(message.to);
    if (!message.detached)
        count_down(message.from);
}

void Ranks::count_down(std::int32_t index) {
    auto &rank = ranks_[std::size_t(index)];
    --rank.under_way;
    ++rank.unreaped;
    if (rank.waits && (!rank.waits_for_all || rank.under_way == 0)) {
        rank.waits = false;
        ready_.push_back(index);
    }
}

// A copy inside a rank's node; the rank goes on when it ends. True if there is nothing to copy.
bool Ranks::copy(std::int32_t index, double bytes) {
    if (bytes <= 0)
        return true;
    start(new_message({copying, index, -1, false, true, bytes}));
    return false;
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
