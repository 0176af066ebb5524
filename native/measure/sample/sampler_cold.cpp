// SPDX-License-Identifier: BSD-3-Clause
// First calls.
#include "mpi/agree.hpp"
#include "sample/sampler.hpp"

namespace weft {

void Sampler::measure_cold(std::span<std::string_view const> ops, How how, Take const &take) {
    status_.set(ops.back(), "cold", "measuring");
    open(ops, Phase::cold, 1, how);
    std::int64_t const met = Peers::met().among(team_.comm); // looked up before the call, reduced after it
    take(1, 1);
    Peers::met().meet_all(team_.comm); // connections of the measured call are no longer fresh for the next one
    std::int64_t const most_met = max_over(team_, met);
    // There is only one first call: if it started late it is kept, and counted as late.
    bool const by_time = start_.start() == Start::window || team_.back;
    std::int64_t const late = by_time ? max_over(team_, late_[0] != Late::no ? 1 : 0) : 0;
    for (Segment *const segment : open_) {
        segment->count = 1;
        segment->late = late;
        segment->peers_met = most_met;
        segment->ended_by = EndedBy::single;
    }
    close(how);
}

} // namespace weft
