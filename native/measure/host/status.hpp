// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/live.hpp"
#include "mpi/team.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// This rank's slot of 64 bytes in launches/<launch>.status: its last known state.
class Status {
  public:
    /// A status without a file (tests, helper teams).
    Status() = default;
    /// Collective: rank 0 makes the file. `live` is the path of the slot for whoever watches.
    Status(Team const &team, std::string const &path, std::string live = "");
    Status(Status const &) = delete;
    Status &operator=(Status const &) = delete;
    ~Status() = default;

    void cell(std::string_view cell);
    /// Must not be called between two clock reads.
    void set(std::string_view op, std::string_view phase, std::string_view state);

    Live &live() noexcept { return live_; }
    std::string const &of_cell() const noexcept { return cell_; }
    int fd() const noexcept { return file_ ? file_->fd : -1; }
    std::int64_t offset() const noexcept { return offset_; }

  private:
    struct Slots {
        int fd = -1;
        ~Slots();
    };
    static std::shared_ptr<Slots> opened(std::string const &path);

    std::shared_ptr<Slots> file_;
    std::int64_t offset_ = 0;
    std::string cell_;
    Live live_;
};

} // namespace weft
