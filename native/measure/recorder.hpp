// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stop_rule.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One sample on this rank: a row of the .npy file.
struct Row {
    std::int64_t start_ns;    ///< on this rank's clock until the cell ends, then on rank 0's, from the launch's epoch
    std::int64_t duration_ns; ///< of the whole batch
    std::int64_t taint;       ///< see taint.hpp
};
static_assert(sizeof(Row) == 24);

enum class Phase { cold, warm };
enum class EndedBy { single, precision, samples, budget };

char const *name(Phase phase) noexcept;
char const *name(EndedBy reason) noexcept;

/// The samples of one operation in one phase.
struct Segment {
    std::string op;
    Phase phase;
    std::vector<Row> rows; ///< preallocated and touched; the first `count` are samples
    std::int64_t count = 0;
    std::int64_t batch = 1;  ///< operations a sample
    std::int64_t warmup = 0; ///< operations before the first sample, not recorded
    std::int64_t late = 0;   ///< samples that started late in a window, and were dropped
    EndedBy ended_by = EndedBy::single;
    std::int64_t median_ns = 0; ///< of max over ranks of duration_ns; known to rank 0
};

/// All samples of one cell on this rank. The order and sizes of its segments are the same on every rank.
class Recorder {
  public:
    /// Room for `capacity` samples, written once so that no page fault falls into a sample.
    Segment &open(std::string_view op, Phase phase, std::int64_t capacity);

    std::deque<Segment> &segments() noexcept { return segments_; }
    std::deque<Segment> const &segments() const noexcept { return segments_; }
    /// S: samples on this rank, over all segments.
    std::int64_t count() const noexcept;

    /// Bytes a rank needs to record `operations` operations, each cold once and warm (the "samples" of a Need).
    static std::int64_t bytes(std::int64_t operations, Rules const &rules) noexcept;

  private:
    std::deque<Segment> segments_; // references stay valid while others are opened
};

} // namespace weft
