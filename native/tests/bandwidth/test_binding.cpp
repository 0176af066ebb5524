// SPDX-License-Identifier: BSD-3-Clause
#include "bandwidth/binding.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

/// A folder with the sockets of four CPUs: 0 and 1 on socket 0, 2 and 3 on socket 1.
class FakeHost {
  public:
    FakeHost() {
        std::string name = (std::filesystem::temp_directory_path() / "weft-binding-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            std::abort();
        }
        root_ = name;
        for (int cpu = 0; cpu < 4; ++cpu) {
            auto const folder = root_ / ("sys/devices/system/cpu/cpu" + std::to_string(cpu)) / "topology";
            std::filesystem::create_directories(folder);
            std::ofstream(folder / "physical_package_id") << cpu / 2 << "\n";
        }
    }
    FakeHost(FakeHost const &) = delete;
    FakeHost &operator=(FakeHost const &) = delete;
    ~FakeHost() { std::filesystem::remove_all(root_); }
    std::string root() const { return root_.string(); }

  private:
    std::filesystem::path root_;
};

constexpr weft::Sockets first = 1;
constexpr weft::Sockets second = 2;
constexpr weft::Sockets either = 3;

} // namespace

TEST_CASE("sockets are read for each CPU of a list") {
    FakeHost const host;
    CHECK(weft::sockets_of("0", host.root()) == first);
    CHECK(weft::sockets_of("0-1", host.root()) == first);
    CHECK(weft::sockets_of("3", host.root()) == second);
    CHECK(weft::sockets_of("0-3", host.root()) == either);
    CHECK(weft::sockets_of("0,2", host.root()) == either);
    CHECK(weft::sockets_of("0-1,3", host.root()) == either);
}

TEST_CASE("a CPU without a socket, or no CPU at all, tells nothing") {
    FakeHost const host;
    CHECK(weft::sockets_of("", host.root()) == 0);
    CHECK(weft::sockets_of("7", host.root()) == 0);
    CHECK(weft::sockets_of("n37", host.root()) == 0);
    CHECK(weft::sockets_of("0,99", host.root()) == 0);
}

TEST_CASE("a binding as the pattern asks for gives no message") {
    for (auto const &[pattern, one_node, a, b] :
         {std::tuple{"intra-socket", true, first, first}, std::tuple{"inter-socket", true, first, second},
          std::tuple{"inter-node", false, first, first}, std::tuple{"", true, either, first}}) {
        auto const found = weft::check_binding(pattern, one_node, a, b);
        CHECK(found.refusal.empty());
        CHECK(found.warning.empty());
    }
}

TEST_CASE("another binding is refused, with both sockets named") {
    auto const apart = weft::check_binding("intra-socket", true, first, second);
    CHECK(apart.refusal.find("rank 0 may run on socket 0, rank 1 on socket 1") != std::string::npos);
    CHECK_FALSE(weft::check_binding("inter-socket", true, second, second).refusal.empty());
    CHECK(weft::check_binding("inter-node", true, first, second).refusal.find("one node") != std::string::npos);
    CHECK(weft::check_binding("intra-socket", false, first, first).refusal.find("two nodes") != std::string::npos);
}

TEST_CASE("ranks that are not held to one socket, or that nobody can see, are a warning") {
    CHECK(weft::check_binding("intra-socket", true, either, either).warning.find("socket 0,1") != std::string::npos);
    CHECK_FALSE(weft::check_binding("inter-socket", true, either, first).warning.empty());
    CHECK(weft::check_binding("intra-socket", true, 0, first).warning.find("nobody here can tell") !=
          std::string::npos);
    CHECK(weft::check_binding("intra-socket", true, either, either).refusal.empty());
}
