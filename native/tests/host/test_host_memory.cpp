// SPDX-License-Identifier: BSD-3-Clause
#include "host/host_memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// A copy of the few files of /proc and /sys that are read.
class FakeHost {
  public:
    FakeHost() {
        std::array<char, 64> name{"/tmp/weft-host-XXXXXX"};
        root_ = mkdtemp(name.data());
        write("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n");
    }
    FakeHost(FakeHost const &) = delete;
    FakeHost &operator=(FakeHost const &) = delete;
    ~FakeHost() { std::filesystem::remove_all(root_); }

    void write(std::string const &path, std::string const &text) const {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    weft::platform::Memory memory() const { return weft::read_memory(root_); }

  private:
    std::string root_;
};

} // namespace

TEST_CASE("without a cgroup, MemAvailable is what is left") {
    FakeHost const host;
    CHECK(host.memory().node_bytes == 8 * mebibyte);
    CHECK(host.memory().node_source == "MemAvailable");
}

TEST_CASE("a cgroup of the second generation limits, less what it uses, plus the cache it can drop") {
    FakeHost const host;
    host.write("/proc/self/cgroup", "0::/job/step\n");
    host.write("/sys/fs/cgroup/job/step/memory.max", std::to_string(4 * mebibyte) + "\n");
    host.write("/sys/fs/cgroup/job/step/memory.current", std::to_string(3 * mebibyte) + "\n");
    host.write("/sys/fs/cgroup/job/step/memory.stat", "anon 1\ninactive_file " + std::to_string(mebibyte) + "\n");
    CHECK(host.memory().node_bytes == 2 * mebibyte);
    CHECK(host.memory().node_source == "cgroup limit");
}

TEST_CASE("a group above may be tighter than one's own") {
    FakeHost const host;
    host.write("/proc/self/cgroup", "0::/job/step\n");
    host.write("/sys/fs/cgroup/job/step/memory.max", "max\n");
    host.write("/sys/fs/cgroup/job/memory.max", std::to_string(mebibyte) + "\n");
    host.write("/sys/fs/cgroup/job/memory.current", "4096\n");
    CHECK(host.memory().node_bytes == mebibyte - 4096);
}

TEST_CASE("a cgroup of the first generation limits") {
    FakeHost const host;
    host.write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/a\n0::/\n");
    host.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(2 * mebibyte) + "\n");
    host.write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", std::to_string(mebibyte) + "\n");
    host.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // no limit
    CHECK(host.memory().node_bytes == mebibyte);
}

TEST_CASE("in a container the group's path is not mounted, but its limit stands at the mount") {
    FakeHost const host;
    host.write("/proc/self/cgroup", "0::/docker/0123abcd\n");
    host.write("/sys/fs/cgroup/memory.max", std::to_string(mebibyte) + "\n");
    CHECK(host.memory().node_bytes == mebibyte);
}

TEST_CASE("a group that is over its limit leaves nothing") {
    FakeHost const host;
    host.write("/proc/self/cgroup", "0::/a\n");
    host.write("/sys/fs/cgroup/a/memory.max", "4096\n");
    host.write("/sys/fs/cgroup/a/memory.current", "8192\n");
    CHECK(host.memory().node_bytes == 0);
}

TEST_CASE("this host has some memory left") {
    CHECK(weft::read_memory("").node_bytes > mebibyte);
}
