// SPDX-License-Identifier: BSD-3-Clause
// Files that appear under their name complete or not at all. Used only by rank 0.
#pragma once

#include "mpi/error.hpp"
#include "mpi/team.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// `<path>.part` until published, or `<path>.<mark>.part`. Every error throws Failure and removes the part.
class PartFile {
  public:
    explicit PartFile(std::string path, std::string const &mark = "");
    PartFile(PartFile const &) = delete;
    PartFile &operator=(PartFile const &) = delete;
    ~PartFile();

    std::string const &part() const { return part_; }
    /// Reserves the disk space, so that a full disk is detected before any write.
    void reserve(std::int64_t bytes);
    /// Appends.
    void write(std::span<std::byte const> bytes);
    void write(std::string_view text);
    /// Closes the file for writes by other ranks; `reopen` sees what they wrote.
    void close();
    void reopen();
    std::int64_t size() const;
    /// Reads `into` from `offset`; throws if the file is shorter.
    void read(std::int64_t offset, std::span<std::byte> into) const;
    /// Synchronises the file to disk, then renames it.
    void publish();

  private:
    [[noreturn]] void fail(char const *doing) const;

    std::string path_;
    std::string part_;
    int fd_ = -1;
    bool published_ = false;
};

/// Writes a whole small file.
void write_file(std::string const &path, std::string_view text);

/// The remedy for a file's error number.
std::string file_remedy(int error);

/// Collective: rank 0 does it; if that throws Failure, all ranks throw it together.
void on_rank_0(Team const &team, std::function<void()> const &work);

} // namespace weft
