// SPDX-License-Identifier: BSD-3-Clause
// What samples are over all ranks, on rank 0.
#include "mpi/agree.hpp"
#include "sample/sampler.hpp"

#include <algorithm>

namespace weft {

/// Max over ranks of the durations of rows, on rank 0; undefined on other ranks.
std::span<std::int64_t> Sampler::collective(Segment const &segment, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        durations_[std::size_t(i)] = segment.rows[std::size_t(first + i)].duration_ns;
    }
    std::span<std::int64_t> const result = std::span(collective_).subspan(std::size_t(first), std::size_t(count));
    if (team_.back) {
        std::transform(durations_.begin(), durations_.begin() + count, result.begin(),
                       [&](std::int64_t mine) { return max_over(team_, mine); });
        return result;
    }
    check(PMPI_Reduce(durations_.data(), result.data(), int(count), MPI_INT64_T, MPI_MAX, 0, start_.comm()),
          "MPI_Reduce of durations");
    return result;
}

/// The last end minus the first start of rows, on rank 0. During a cell the clocks use their lines so far.
void Sampler::find_spans(Segment const &segment, std::int64_t first, std::int64_t count) {
    auto const at = [&](std::int64_t i) -> Row const & { return segment.rows[std::size_t(first + i)]; };
    for (std::int64_t i = 0; i < count; ++i) {
        durations_[std::size_t(i)] = clock_.global(at(i).start_ns);
    }
    check(PMPI_Reduce(durations_.data(), begins_.data(), int(count), MPI_INT64_T, MPI_MIN, 0, start_.comm()),
          "MPI_Reduce of starts");
    for (std::int64_t i = 0; i < count; ++i) {
        durations_[std::size_t(i)] = clock_.global(at(i).start_ns + at(i).duration_ns);
    }
    std::int64_t *const spans = spans_.data() + first;
    check(PMPI_Reduce(durations_.data(), spans, int(count), MPI_INT64_T, MPI_MAX, 0, start_.comm()),
          "MPI_Reduce of ends");
    for (std::int64_t i = 0; i < count; ++i) {
        spans[i] -= begins_[std::size_t(i)];
    }
}

/// What the ranks of rows lost together, on rank 0: a rank that waits for another loses the other's loss, too.
void Sampler::find_losses(Segment const &segment, std::int64_t first, std::int64_t count) {
    if (count == 0) {
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        durations_[std::size_t(i)] = most_lost_ns(segment.rows[std::size_t(first + i)], recorder_.lost_by());
    }
    check(PMPI_Reduce(durations_.data(), lost_.data() + first, int(count), MPI_INT64_T, MPI_SUM, 0, start_.comm()),
          "MPI_Reduce of losses");
}

} // namespace weft
