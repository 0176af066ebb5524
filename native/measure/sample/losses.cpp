// SPDX-License-Identifier: BSD-3-Clause
#include "sample/losses.hpp"

#include <algorithm>

namespace weft {

std::int64_t lost_between(platform::Usage const &before, platform::Usage const &after) noexcept {
    std::int64_t const switches = after.involuntary_switches - before.involuntary_switches; // sched_yield is one, too
    std::int64_t const lost = platform::knows_delay() ? after.delay_ns - before.delay_ns : switches;
    return packed_loss(lost, after.major_faults - before.major_faults);
}

LostBy Losses::by() const noexcept {
    if (cores_ == nullptr) {
        return platform::knows_delay() ? LostBy::delay : LostBy::switches;
    }
    if (cores_->by_plan()) {
        return LostBy::others;
    }
    return cores_->delay_is_known() ? LostBy::delay : LostBy::switches;
}

std::int64_t Losses::next() noexcept {
    platform::Usage const now = read_();
    std::int64_t const lost = between(last_, now);
    last_ = now;
    return lost;
}

std::int64_t Losses::between(platform::Usage const &before, platform::Usage const &after) const noexcept {
    std::int64_t const lost = lost_between(before, after);
    if (by_others()) {
        return packed_loss(0, faults_of(lost)); // ranks wait for their turns
    }
    bool const only_flags = cores_ != nullptr && !cores_->delay_is_known() && platform::knows_delay();
    return only_flags ? packed_loss(lost_of(lost) > 0 ? 1 : 0, faults_of(lost)) : lost;
}

void Losses::open_window() {
    if (by_others() && !is_open_) {
        opened_ = cores_->read();
        is_open_ = true;
    }
}

bool Losses::add(MPI_Comm comm, std::vector<Segment *> const &segments, std::int64_t count) {
    if (!by_others()) {
        return false;
    }
    for (Segment *const segment : segments) {
        rows_.push_back({segment, segment->count - count, count});
    }
    std::int64_t const passed_ns = platform::now_ns() - opened_.now_ns;
    if (min_over(comm, passed_ns) < window_ns_) {
        return false;
    }
    close_window();
    open_window();
    return true;
}

/// Nobody knows which of the samples others fell on: each has its share of the window.
void Losses::close_window() {
    if (!is_open_) {
        return;
    }
    is_open_ = false;
    CoreTimes const now = cores_->read();
    double const share =
        double(cores_->others_ns(opened_, now)) / double(std::max<std::int64_t>(1, now.now_ns - opened_.now_ns));
    for (Rows const &rows : rows_) {
        for (std::int64_t i = 0; share > 0 && i < rows.count; ++i) {
            Row &row = rows.segment->rows[std::size_t(rows.first + i)];
            auto const lost_ns = std::int64_t(share * double(row.duration_ns));
            row.lost = packed_loss(std::min(lost_ns, row.duration_ns), faults_of(row.lost));
        }
    }
    rows_.clear();
}

} // namespace weft
