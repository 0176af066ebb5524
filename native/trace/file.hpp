// SPDX-License-Identifier: BSD-3-Clause
// The file of a rank's trace, mapped into memory a window at a time: what is written there survives the process,
// however it ends. Pure: no MPI.
#pragma once

#include "record.hpp"

#include <atomic>
#include <span>
#include <string>
#include <vector>

namespace weft::trace {

constexpr std::size_t window_records = 65536; // 4 MiB

/// Held for some tens of nanoseconds by whoever writes; a signal handler never writes.
class SpinLock {
  public:
    void lock() noexcept;
    void unlock() noexcept { flag_.clear(std::memory_order_release); }

  private:
    std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class File {
  public:
    /// Creates the file, which must not be there. Empty if that worked, else why not.
    std::string open(std::string const &path, std::int64_t most_bytes);
    /// Creates one beside it that nobody sees, and which is gone with this process: to try out what writing costs.
    std::string open_beside(File const &other);
    /// Removes the file again, as if it had never been opened.
    void discard() noexcept;
    bool is_open() const noexcept { return head_ != nullptr; }
    Head &head() noexcept { return *head_; }

    /// Appends a call and what belongs to it, one behind the other. Beyond the size it is summarised instead.
    void append(Record const &call, std::span<Record const> parts = {}) noexcept;
    /// Appends records that are no call; also beyond the size, since summaries refer to them.
    void define(std::span<Record const> parts) noexcept;
    /// The same of what a program may make without end: false, and nothing done, where the file has no room for it.
    bool define_if_room(std::span<Record const> parts) noexcept;
    /// Writes the summaries, shortens the file to its records, and marks it as complete, with a checksum of its
    /// contents.
    void close(std::int64_t now_ns) noexcept;

  private:
    Record *room() noexcept;
    bool next_window() noexcept;
    void write(Record const &record) noexcept;
    bool add_checksum(std::size_t bytes) noexcept;
    bool has_room(std::size_t parts, std::size_t left) const noexcept;
    bool fold(Record const &record) noexcept;
    void summarise(Record const &record) noexcept;
    static void add_to(Record &sum, Record const &record) noexcept;

    SpinLock lock_;
    std::string path_;
    int handle_ = -1;
    Head *head_ = nullptr;
    Record *window_ = nullptr;
    std::size_t used_ = 0;         // records in the window
    std::size_t window_start_ = 0; // byte in the file
    Record *last_ = nullptr;       // the last call, if polls may be added to it
    std::size_t most_records_ = 0;
    std::vector<Record *> summaries_; // hash table of records in the file
    std::size_t kinds_ = 0;           // used of them
};

} // namespace weft::trace
