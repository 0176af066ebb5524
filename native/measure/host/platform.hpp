// SPDX-License-Identifier: BSD-3-Clause
// The few things a simulator replaces. platform_real.cpp is the one for Linux; nothing else asks the system.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::platform {

/// This host's monotonic clock.
std::int64_t now_ns() noexcept;
/// True when all ranks read one clock wherever they run: in a simulator.
bool one_clock() noexcept;
void sleep_ns(std::int64_t ns) noexcept;

/// Page-aligned memory that nobody has touched yet.
class Pages {
  public:
    Pages() = default;
    Pages(Pages &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), real_(other.real_) {}
    Pages &operator=(Pages &&other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(real_, other.real_);
        return *this;
    }
    ~Pages();

    /// Nothing when the system has no such memory to give. 0 bytes give one page, so that data() is never null.
    static std::optional<Pages> map(std::size_t bytes);

    std::byte *data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }
    /// False when the bytes have no content of their own (a simulator folds large buffers): never fill or verify them.
    bool real() const noexcept { return real_; }

  private:
    std::byte *data_ = nullptr;
    std::size_t bytes_ = 0;
    bool real_ = true;
};

/// What disturbed the calling thread since it began.
struct Usage {
    std::int64_t involuntary_switches = 0;
    std::int64_t major_faults = 0;
};
Usage usage() noexcept;

/// What disturbed this whole host since it booted.
struct Pressure {
    std::int64_t swap_in_pages = 0;
    std::int64_t swap_out_pages = 0;
    std::int64_t steal_ns = 0;
};
Pressure pressure();

/// Memory that can still be had.
struct Memory {
    std::int64_t node_bytes = 0;    ///< smallest of MemAvailable and what the cgroup leaves
    std::string node_source;        ///< which of them it was
    std::int64_t process_bytes = 0; ///< what RLIMIT_AS leaves to this process; INT64_MAX without a limit
};
Memory memory();

/// Where the calling rank runs.
struct Host {
    std::string name;
    std::string boot_id;
    std::string processor;
    std::string cpus; ///< the CPUs it may run on, like "0-3,8"
    int core = -1;    ///< the CPU it runs on just now
    std::int64_t pid = 0;
    std::int64_t page_bytes = 0;
};
Host host();

/// The environment, as NAME, value.
std::vector<std::pair<std::string, std::string>> environment();
/// One variable of the environment.
std::optional<std::string> variable(std::string const &name);

/// CPUs of this host.
int cores() noexcept;
/// Lets another process have this core, where one waits for it.
void yield() noexcept;

/// Arranges that this process is killed when the process that started it ends. False when that has happened already.
bool die_with_parent() noexcept;

/// Ends the process with exit code 124 after `limit_ns`, having written the slot text with the state `timeout` to
/// `[offset, offset + 64)` of file `fd`. One a process.
void arm_watchdog(std::int64_t limit_ns, int fd, std::int64_t offset);
/// What the watchdog writes if it has to: the rank's slot, without the state.
void tell_watchdog(std::string_view slot) noexcept;

/// Has done what a library does at its start and a simulator only in the first call: collective over `comm`.
void split_by_node(MPI_Comm comm);

/// Has the algorithm of a collective call noted, by a name for the call that all ranks give as they begin it. Only a
/// simulator can see one.
void watch_algorithm(std::string const &call);
/// What was seen, such as "bruck"; empty where nothing was.
std::string noted_algorithm(std::string const &call);

/// The planted faults of tests.
[[noreturn]] void hang();
[[noreturn]] void crash();
void stop();

} // namespace weft::platform
