// SPDX-License-Identifier: BSD-3-Clause
#include "host/shared_memory.hpp"

#include "host/platform.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

namespace weft {

namespace {

/// Names below /dev/shm that this process has mapped and that still exist.
std::set<std::string> shared_names() {
    constexpr std::string_view place = " /dev/shm/";
    constexpr std::string_view gone = " (deleted)";
    std::set<std::string> names;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        auto const at = line.find(place);
        if (at != std::string::npos && !line.ends_with(gone)) {
            names.insert(line.substr(at + place.size()));
        }
    }
    return names;
}

} // namespace

void note_shared_memory() {
    std::string const session = platform::variable("TMPDIR").value_or("");
    if (session.substr(session.find_last_of('/') + 1).rfind("weft-", 0) != 0) {
        return;
    }
    std::string text;
    for (std::string const &name : shared_names()) {
        text += name + "\n";
    }
    int const fd = open((session + "/shared").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        // Best effort: it is needed only if a launch is killed together with its supervisor.
        [[maybe_unused]] ssize_t const written = write(fd, text.data(), text.size());
        close(fd);
    }
}

} // namespace weft
