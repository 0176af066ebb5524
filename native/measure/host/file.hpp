// SPDX-License-Identifier: BSD-3-Clause
// Files that appear under their name whole, or not at all. Used by rank 0 alone.
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

/// `<path>.part` until published, or `<path>.<mark>.part`. Every error throws Failure, and the part is removed.
class PartFile {
  public:
    explicit PartFile(std::string path, std::string const &mark = "");
    PartFile(PartFile const &) = delete;
    PartFile &operator=(PartFile const &) = delete;
    ~PartFile();

    std::string const &part() const { return part_; }
    /// Claims the disk space now, so that a full disk is known before anybody writes.
    void reserve(std::int64_t bytes);
    /// Appends.
    void write(std::span<std::byte const> bytes);
    void write(std::string_view text);
    /// Ends writing here, for others to go on; `reopen` sees what they wrote.
    void close();
    void reopen();
    std::int64_t size() const;
    /// Reads `into` from `offset`; what is not there throws.
    void read(std::int64_t offset, std::span<std::byte> into) const;
    /// On the disk, then under its name.
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

/// What to do about an error number of a file.
std::string file_remedy(int error);

/// Collective: rank 0 does it; if that throws Failure, all ranks throw it together.
void on_rank_0(Team const &team, std::function<void()> const &work);

} // namespace weft
