// SPDX-License-Identifier: BSD-3-Clause
#include "host/status.hpp"

#include "host/file.hpp"
#include "host/platform.hpp"
#include "mpi/agree.hpp"

#include "mpi/agree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft {

namespace {

constexpr std::size_t slot_bytes = 64;

} // namespace

Status::Status(Team const &team, std::string const &path, std::string live)
    : offset_(std::int64_t(slot_bytes) * team.rank), live_(std::move(live)) {
    on_rank_0(team, [&] {
        // All slots are written now, so that no later write can fail on a full disk.
        write_file(path, std::string(slot_bytes * std::size_t(team.size), '\0'));
    });
    file_ = opened(path);
    int const error = file_ ? 0 : errno;
    if (max_over(team, error) != 0) {
        throw Failure("cannot open " + path + " on every rank: " + std::strerror(error), file_remedy(error), true);
    }
}

/// All simulated ranks are one process: with a descriptor each, a thousand of them would exceed its limit.
std::shared_ptr<Status::Slots> Status::opened(std::string const &path) {
    static std::weak_ptr<Slots> last;
    static std::string last_path;
    auto file = last.lock();
    if (!file || path != last_path) {
        int const fd = open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            return nullptr;
        }
        file = std::make_shared<Slots>(fd);
        last = file;
        last_path = path;
    }
    return file;
}

Status::Slots::~Slots() {
    if (fd >= 0) {
        close(fd);
    }
}

void Status::cell(std::string_view cell) {
    cell_ = cell;
    set("-", "-", "starting");
}

void Status::set(std::string_view op, std::string_view phase, std::string_view state) {
    if (!file_) {
        return;
    }
    std::string const begin = cell_ + " " + std::string(op) + " " + std::string(phase);
    platform::tell_watchdog(begin);
    std::string const text = begin + " " + std::string(state);
    std::array<char, slot_bytes> slot{};
    std::copy_n(text.begin(), std::min(text.size(), slot.size()), slot.begin());
    // Best effort: a slot is needed only to explain a failed launch.
    [[maybe_unused]] ssize_t const written = pwrite(file_->fd, slot.data(), slot.size(), off_t(offset_));
}

} // namespace weft
