// SPDX-License-Identifier: BSD-3-Clause
// What happens when: events in buckets of equal time, since the ranks of a regular schedule act at the same moments.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace weft::rounds {

enum class Happens : std::uint8_t { wake, begin, finish };

struct Event {
    Happens what;
    std::int32_t id;           // a rank, a message or a path
    std::uint32_t version = 0; // of the path's rate
};

class Calendar {
  public:
    Calendar() { recent_.fill({-1, 0}); }

    bool empty() const { return times_.empty(); }
    double next_s() const { return times_.top().first; }

    void add(double at_s, Event event) {
        auto &seen = recent_[slot(at_s)];
        if (seen.first != at_s) {
            if (free_.empty()) {
                free_.push_back(std::uint32_t(buckets_.size()));
                buckets_.emplace_back();
            }
            seen = {at_s, free_.back()};
            free_.pop_back();
            times_.push(seen);
        }
        buckets_[seen.second].push_back(event);
    }

    // Moves the earliest events into `events`, in the order in which they were added.
    void take(std::vector<Event> &events) {
        auto const [at_s, bucket] = times_.top();
        times_.pop();
        if (auto &seen = recent_[slot(at_s)]; seen.second == bucket)
            seen.first = -1;
        events.swap(buckets_[bucket]);
        buckets_[bucket].clear();
        free_.push_back(bucket);
    }

  private:
    using Timed = std::pair<double, std::uint32_t>;

    static std::size_t slot(double at_s) {
        return std::size_t((std::bit_cast<std::uint64_t>(at_s) * 0x9e3779b97f4a7c15) >> 56);
    }

    std::priority_queue<Timed, std::vector<Timed>, std::greater<>> times_;
    std::vector<std::vector<Event>> buckets_;
    std::vector<std::uint32_t> free_;
    std::array<Timed, 256> recent_; // buckets that are still open, by a hash of their time
};

} // namespace weft::rounds
