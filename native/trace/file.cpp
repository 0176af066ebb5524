// SPDX-License-Identifier: BSD-3-Clause
#include "file.hpp"

#include "common/crc32.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::trace {

namespace {

constexpr std::size_t window_bytes = window_records * sizeof(Record);
constexpr std::size_t most_summaries = 4096;
constexpr std::size_t most_definitions = 4096; // records of communicators behind the last single call

void *map(int handle, std::size_t bytes, std::size_t at) noexcept {
    void *const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle, off_t(at));
    return found == MAP_FAILED ? nullptr : found;
}

bool same_kind(Record const &a, Record const &b) noexcept {
    return a.call == b.call && a.site == b.site && a.comm == b.comm && a.peer == b.peer;
}

std::int64_t total_of(Record const &summary) noexcept {
    return std::int64_t(std::uint64_t(summary.thread) << 32 | std::uint32_t(summary.tag));
}

} // namespace

void SpinLock::lock() noexcept {
    for (int tries = 0; flag_.test_and_set(std::memory_order_acquire); ++tries) {
        if (tries > 100) {
            sched_yield();
        }
    }
}

// The head takes the first window's beginning, so that windows begin at whole pages. A file that is there may be mapped
// by the program that started this one: cutting it off would kill that at its next record.
std::string File::open(std::string const &path, std::int64_t most_bytes) {
    handle_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (handle_ < 0) {
        return path + ": " + std::strerror(errno);
    }
    // reserved, not only made longer: writing to a page that the disk has no room for would kill the application
    int const full = posix_fallocate(handle_, 0, off_t(window_bytes));
    void *const start = full == 0 ? map(handle_, window_bytes, 0) : nullptr;
    if (start == nullptr) {
        std::string const why = std::strerror(full != 0 ? full : errno);
        ::close(handle_);
        ::unlink(path.c_str());
        return path + ": " + why;
    }
    path_ = path;
    head_ = new (start) Head;
    head_->most_bytes = most_bytes;
    window_ = static_cast<Record *>(start);
    used_ = sizeof(Head) / sizeof(Record);
    most_records_ =
        std::max<std::size_t>(std::size_t(most_bytes) / sizeof(Record), most_summaries + most_definitions + 1024);
    return "";
}

std::string File::open_beside(File const &other) {
    std::string problem = open(other.path_ + ".cost", std::int64_t(window_bytes));
    if (problem.empty()) {
        ::unlink(path_.c_str());
    }
    return problem;
}

void File::discard() noexcept {
    if (is_open()) {
        munmap(head_, window_bytes);
        head_ = nullptr;
        ::close(handle_);
        ::unlink(path_.c_str());
    }
}

bool File::next_window() noexcept {
    std::size_t const at = window_start_ + window_bytes;
    Record *const next = posix_fallocate(handle_, off_t(at), off_t(window_bytes)) == 0
                             ? static_cast<Record *>(map(handle_, window_bytes, at))
                             : nullptr;
    if (next == nullptr) {
        head_->state |= stopped;
        return false;
    }
    if (window_start_ != 0 && summaries_.empty()) { // the first one holds the head, a later one perhaps summaries
        munmap(window_, window_bytes);
    }
    window_ = next;
    window_start_ = at;
    used_ = 0;
    last_ = nullptr;
    return true;
}

Record *File::room() noexcept {
    if (used_ == window_records && ((head_->state & stopped) != 0 || !next_window())) {
        return nullptr;
    }
    ++head_->records;
    return &window_[used_++];
}

// The number of the call is written last: a record that was cut off by a signal is none.
void File::write(Record const &record) noexcept {
    Record *const to = room();
    if (to == nullptr) {
        return;
    }
    auto const *from = reinterpret_cast<char const *>(&record);
    std::memcpy(reinterpret_cast<char *>(to) + sizeof record.call, from + sizeof record.call,
                sizeof record - sizeof record.call);
    std::atomic_ref<std::uint16_t>(to->call).store(record.call, std::memory_order_release);
    last_ = to;
}

bool File::has_room(std::size_t parts, std::size_t left) const noexcept {
    return head_->records + parts + left < most_records_;
}

// Polls in a row become one record.
bool File::fold(Record const &record) noexcept {
    if ((record.flags & unfinished) == 0 || last_ == nullptr || (last_->flags & unfinished) == 0 ||
        !same_kind(*last_, record) || last_->thread != record.thread) {
        return false;
    }
    last_->end_ns = record.end_ns;
    ++last_->request;
    return true;
}

void File::append(Record const &call, std::span<Record const> parts) noexcept {
    lock_.lock();
    if (has_room(parts.size(), most_summaries + most_definitions)) {
        ++head_->events;
        if (!fold(call)) {
            write(call);
            Record *const first = last_;
            for (Record const &part : parts) {
                write(part);
            }
            last_ = parts.empty() ? first : nullptr;
        }
    } else {
        ++head_->events;
        head_->state |= limited;
        summarise(call);
        for (Record const &part : parts) {
            if (part.call == completion) { // counts of single calls are lost
                summarise(part);
            }
        }
    }
    lock_.unlock();
}

void File::define(std::span<Record const> parts) noexcept {
    lock_.lock();
    for (Record const &part : parts) {
        write(part);
    }
    last_ = nullptr;
    lock_.unlock();
}

bool File::define_if_room(std::span<Record const> parts) noexcept {
    lock_.lock();
    bool const fits = has_room(parts.size(), most_summaries);
    head_->state |= fits ? 0U : limited;
    lock_.unlock();
    if (fits) {
        define(parts);
    }
    return fits;
}

void File::add_to(Record &sum, Record const &record) noexcept {
    std::int64_t const total = total_of(sum) + record.end_ns - record.begin_ns;
    sum.end_ns = record.end_ns;
    sum.bytes += record.bytes;
    sum.received += record.received;
    sum.tag = std::int32_t(total & 0xFFFFFFFF);
    sum.thread = std::uint32_t(std::uint64_t(total) >> 32);
    ++sum.request;
}

// Open addressing. The summaries stand in the file from their first call on, so that they too survive the process.
void File::summarise(Record const &record) noexcept {
    if (summaries_.empty()) {
        summaries_.resize(most_summaries, nullptr);
    }
    Record kind = record;
    if (kinds_ > most_summaries * 3 / 4) { // too many kinds: new ones by call alone
        kind.site = 0;
        kind.comm = 0;
        kind.peer = no_peer;
    }
    std::size_t const hash = (kind.call * 0x9E3779B97F4A7C15ULL) ^ (kind.site * 0xC2B2AE3D27D4EB4FULL) ^
                             (std::uint64_t(std::uint32_t(kind.peer)) * 0x165667B19E3779F9ULL) ^
                             (kind.comm * 0x27D4EB2F165667C5ULL);
    for (std::size_t tries = 0; tries < most_summaries; ++tries) {
        Record *&slot = summaries_[((hash >> 20) + tries) % most_summaries];
        if (slot == nullptr && (slot = room()) != nullptr) {
            *slot = kind;
            slot->flags |= summary;
            slot->bytes = slot->received = 0;
            slot->request = slot->thread = 0;
            slot->tag = 0;
            ++kinds_;
        }
        if (slot == nullptr || same_kind(*slot, kind)) {
            if (slot != nullptr) {
                add_to(*slot, record);
            }
            return;
        }
    }
}

void File::close(std::int64_t now_ns) noexcept {
    lock_.lock();
    head_->closed_ns = now_ns;
    std::size_t const end = window_start_ + used_ * sizeof(Record);
    // the rest of the last window was never written; no harm if it stays, but for the checksum
    if (ftruncate(handle_, off_t(end)) != 0 || !add_checksum(end)) {
        head_->state |= closed;
    }
    lock_.unlock();
}

// Read back, since windows that are full are mapped no more. The state is written last: until then a reader takes the
// file for one that is still written to.
bool File::add_checksum(std::size_t bytes) noexcept {
    static std::array<std::byte, 1 << 16> part;
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < bytes;) {
        ssize_t const got = ::pread(handle_, part.data(), std::min(part.size(), bytes - at), off_t(at));
        if (got <= 0 || (at == 0 && got < ssize_t(sizeof(Head)))) { // the first part holds the head whole
            return false;
        }
        if (at == 0) {
            Head head;
            std::memcpy(&head, part.data(), sizeof head);
            head.state |= closed | summed;
            std::memcpy(part.data(), &head, sizeof head);
        }
        crc = crc32(std::span(part).first(std::size_t(got)), crc);
        at += std::size_t(got);
    }
    head_->crc = crc;
    std::atomic_ref<std::uint32_t>(head_->state).fetch_or(closed | summed, std::memory_order_release);
    return true;
}

} // namespace weft::trace
