// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/stop_rule.hpp"
#include "time/clock.hpp"

#include <algorithm>
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
    std::int64_t lost;        ///< to others, see packed_loss
};
static_assert(sizeof(Row) == 24);

/// The durations of rows, for sorting.
std::vector<std::int64_t> durations_of(std::span<Row const> rows);

/// Names of the three numbers of a row, in the order of `Row`; "" for an unused one. Names end in their unit.
using Columns = std::array<std::string_view, 3>;

/// How it is known what samples lost, which names the third number of their rows.
enum class LostBy {
    delay,    ///< ns for which this rank was runnable without a processor
    others,   ///< ns of this machine's processors that others used, where ranks share cores by plan
    switches, ///< only a flag: the involuntary context switches, of a kernel that says no more
};
char const *name(LostBy how) noexcept;

constexpr Columns sample_columns(LostBy how) noexcept {
    return {"start_ns", "duration_ns", how == LostBy::delay ? "delay" : how == LostBy::others ? "others" : "switches"};
}

/// What a sample lost, in one number: ns (or switches) in the low 48 bits, major page faults in bits 48 to 62. The time
/// for which a fault waited is not known. 0 is an undisturbed sample.
constexpr std::int64_t packed_loss(std::int64_t lost, std::int64_t major_faults) noexcept {
    constexpr std::int64_t most = (std::int64_t{1} << 48) - 1;
    return std::clamp<std::int64_t>(lost, 0, most) | std::clamp<std::int64_t>(major_faults, 0, 0x7fff) << 48;
}
constexpr std::int64_t lost_of(std::int64_t packed) noexcept {
    return packed & ((std::int64_t{1} << 48) - 1);
}
constexpr std::int64_t faults_of(std::int64_t packed) noexcept {
    return packed >> 48;
}
/// Of two ranks that take part in one sample.
constexpr std::int64_t both_losses(std::int64_t one, std::int64_t other) noexcept {
    return packed_loss(lost_of(one) + lost_of(other), faults_of(one) + faults_of(other));
}
/// The most that a sample can have lost, in ns: all of it where faults or switches have no length.
constexpr std::int64_t most_lost_ns(Row const &row, LostBy how) noexcept {
    bool const unknown = faults_of(row.lost) > 0 || (how == LostBy::switches && row.lost > 0);
    return unknown ? row.duration_ns : lost_of(row.lost);
}

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
    Columns columns = sample_columns(LostBy::delay);
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
    Segment &open(std::string_view op, Phase phase, std::int64_t capacity) {
        return open(op, phase, capacity, sample_columns(by_));
    }
    Segment &open(std::string_view op, Phase phase, std::int64_t capacity, Columns const &columns);
    /// How it is known what samples lost that are recorded from now on.
    void set_lost_by(LostBy how) noexcept { by_ = how; }
    LostBy lost_by() const noexcept { return by_; }

    std::deque<Segment> &segments() noexcept { return segments_; }
    std::deque<Segment> const &segments() const noexcept { return segments_; }
    /// S: number of samples on this rank, over all segments.
    std::int64_t count() const noexcept;

    /// Bytes a rank needs to record `operations` operations, each cold and warm (the "samples" of a Need).
    static std::int64_t bytes(std::int64_t operations, Rules const &rules) noexcept;

  private:
    std::deque<Segment> segments_; // keeps references valid when others are opened
    LostBy by_ = LostBy::delay;
};

} // namespace weft
