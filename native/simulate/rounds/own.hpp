// SPDX-License-Identifier: BSD-3-Clause
// Parts of the schedules of native/alltoall.
#pragma once

#include "../../alltoall/bruck_steps.hpp"
#include "doubling.hpp"

namespace weft::rounds {

// Reductions of 8 B: of the largest block, or the busiest rank.
void agree(Acts &acts, std::int32_t rank, std::int32_t ranks, std::int32_t times);

std::unique_ptr<Schedule> node_schedule_of(Call const &call, alltoall::Nodes const &nodes);

// Bruck's exchange of some members, each of which holds as many bytes for any other.
class Circle {
  public:
    Circle(std::int32_t members, std::int32_t radix, bool sizes)
        : rounds_(alltoall::bruck_rounds(members, radix)), members_(members), sizes_(sizes) {}

    std::int32_t count() const { return std::int32_t(rounds_.size()); }

    // Sends, then one receive after the other; sizes travel with blocks whose bytes the receiver does not know.
    template <typename Ranks>
    void round(Acts &acts, std::int32_t index, std::int32_t me, double held_bytes, Ranks rank_of) const {
        auto const &steps = rounds_[std::size_t(index)];
        for (auto const &step : steps) {
            auto const blocks = double(step.blocks.size());
            auto const bytes = blocks * (held_bytes + (sizes_ ? sizeof(std::int64_t) : 0));
            acts.push_back({Does::charge, -1, blocks * in_lines(held_bytes)});
            acts.push_back({Does::send, rank_of((me + step.distance) % members_), bytes});
        }
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (sizes_)
                acts.push_back({Does::sleep, -1, probe_s});
            acts.push_back({Does::receive, rank_of((me - steps[i].distance + members_) % members_), double(i)});
            acts.push_back({Does::received, -1, double(i)});
        }
        acts.push_back({Does::all});
    }

  private:
    static constexpr double probe_s = 1e-7; // smpi/iprobe

    std::vector<std::vector<alltoall::BruckStep>> rounds_;
    std::int32_t members_;
    bool sizes_;
};

} // namespace weft::rounds
