// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/stop_rule.hpp"
#include "time/clock.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One sample on this rank: a row of the .npy file.
struct Row {
    std::int64_t start_ns;    ///< on this rank's clock; when stored, on rank 0's from the launch's epoch
    std::int64_t duration_ns; ///< of the whole batch
    std::int64_t taint;       ///< see taint.hpp
};
static_assert(sizeof(Row) == 24);

/// The durations of rows, for sorting.
std::vector<std::int64_t> durations_of(std::span<Row const> rows);

/// Names of the three numbers of a row, in the order of `Row`; "" for an unused one. Names end in their unit.
using Columns = std::array<std::string_view, 3>;
inline constexpr Columns sample_columns{"start_ns", "duration_ns", "taint"};

enum class Phase { cold, warm };

char const *name(Phase phase) noexcept;

/// How the time of one operation follows from the times of its ranks (METHOD 2).
enum class Definition {
    global, ///< last end minus first start, on synchronised clocks
    local,  ///< the longest duration of a rank
};

char const *name(Definition definition) noexcept;

/// The samples of one operation in one phase, or other data that a kernel records; the columns name them.
struct Segment {
    std::string op;
    Phase phase;
    Columns columns = sample_columns;
    std::span<Columns const> head = {}; ///< of the first rows, if these differ from the others; static
    std::vector<Row> rows;              ///< preallocated and touched; the first `count` are samples
    std::int64_t count = 0;
    std::int64_t batch = 1;  ///< operations per sample
    std::int64_t warmup = 0; ///< operations before the first sample, not recorded
    std::int64_t late = 0;   ///< samples dropped because they started late in a window
    EndedBy ended_by = EndedBy::single;
    std::string algorithm;                 ///< of a first call: the collective's algorithm, if known
    std::optional<Offset> line;            ///< clock line at the time of measurement; otherwise that of the closed cell
    std::optional<std::int64_t> peers_met; ///< of a first call: peers met before, max over ranks
    std::int64_t median_ns = 0;            ///< of max over ranks of duration_ns; known to rank 0
    bool of_one_rank = false;              ///< the operation of one rank: its time excludes the skew of starts
    std::optional<Definition> judged;      ///< the definition that the stop rule used; rank 0
    bool settled_locally = false;          ///< also precise by the longest duration; rank 0
};

/// The definition by which the time of a segment is reported: global if the error of the synchronised clocks is below a
/// tenth of the value.
Definition definition_of(Segment const &segment, Clock const &clock) noexcept;

/// All samples of one cell on this rank. The order and sizes of its segments are the same on every rank.
class Recorder {
  public:
    /// Opens a segment for `capacity` rows, written once to avoid page faults during samples.
    Segment &open(std::string_view op, Phase phase, std::int64_t capacity, Columns const &columns = sample_columns);

    std::deque<Segment> &segments() noexcept { return segments_; }
    std::deque<Segment> const &segments() const noexcept { return segments_; }
    /// S: number of samples on this rank, over all segments.
    std::int64_t count() const noexcept;

    /// Bytes a rank needs to record `operations` operations, each cold and warm (the "samples" of a Need).
    static std::int64_t bytes(std::int64_t operations, Rules const &rules) noexcept;

  private:
    std::deque<Segment> segments_; // keeps references valid when others are opened
};

} // namespace weft
