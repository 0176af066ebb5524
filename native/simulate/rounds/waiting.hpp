// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::rounds {

// Numbers by a key that is never 0, most of which are soon removed again: one array, linear probing.
class Waiting {
  public:
    // The number of a key, -1 if it is new.
    std::int32_t &operator[](std::uint64_t key) {
        if (2 * ++used_ > slots_.size())
            grow();
        auto &slot = slots_[find(key)];
        if (slot.first == key)
            --used_;
        else
            slot = {key, -1};
        return slot.second;
    }

    void erase(std::uint64_t key) {
        auto hole = find(key);
        --used_;
        // Later ones move up to where a search for them begins or passes
        for (auto i = next(hole); slots_[i].first != 0; i = next(i))
            if (((i - home(slots_[i].first)) & mask()) >= ((i - hole) & mask()))
                slots_[std::exchange(hole, i)] = slots_[i];
        slots_[hole].first = 0;
    }

  private:
    using Slot = std::pair<std::uint64_t, std::int32_t>;

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
    std::size_t home(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15 >> 24) & mask(); }
    std::size_t find(std::uint64_t key) const {
        auto i = home(key);
        while (slots_[i].first != key && slots_[i].first != 0)
            i = next(i);
        return i;
    }
    void grow() {
        auto const old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        for (auto const &slot : old)
            if (slot.first != 0)
                slots_[find(slot.first)] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    std::size_t used_ = 0;
};

} // namespace weft::rounds
