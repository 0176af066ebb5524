// SPDX-License-Identifier: BSD-3-Clause
// The system interface that a simulator replaces. platform_real.cpp implements it for Linux.
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
/// True if all ranks on all nodes read the same clock, as in a simulator.
bool one_clock() noexcept;
void sleep_ns(std::int64_t ns) noexcept;

/// Page-aligned memory, not yet touched.
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

    /// Nothing if the memory is not available. 0 bytes give one page, so that data() is never null.
    static std::optional<Pages> map(std::size_t bytes);

    std::byte *data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }
    /// False if the bytes have no content of their own (a simulator folds large buffers): never fill or verify them.
    bool real() const noexcept { return real_; }

  private:
    std::byte *data_ = nullptr;
    std::size_t bytes_ = 0;
    bool real_ = true;
};

/// Disturbances of the calling thread since it started.
struct Usage {
    std::int64_t delay_ns = 0; ///< runnable without a processor; 0 where the kernel does not say
    std::int64_t involuntary_switches = 0;
    std::int64_t major_faults = 0;
};
/// Two system calls: never between barrier and measured call.
Usage usage() noexcept;
/// Whether this kernel says for how long a thread was runnable without a processor.
bool knows_delay() noexcept;

/// Processor time of this process, in ns.
std::int64_t own_time_ns() noexcept;
/// Time for which these CPUs did anything at all since boot, in ns, with a resolution of ticks of 10 ms.
std::int64_t busy_time_ns(std::vector<int> const &cpus);
/// CPUs that the calling thread may run on.
std::vector<int> own_cpus();

/// Disturbances of this host since it booted.
struct Pressure {
    std::int64_t swap_in_pages = 0;
    std::int64_t swap_out_pages = 0;
    std::int64_t steal_ns = 0;
};
Pressure pressure();

/// Available memory.
struct Memory {
    std::int64_t node_bytes = 0;    ///< the smaller of MemAvailable and the cgroup's free memory
    std::string node_source;        ///< which of them it is
    std::int64_t process_bytes = 0; ///< rest of RLIMIT_AS for this process; INT64_MAX without a limit
};
Memory memory();

/// Location of the calling rank.
struct Host {
    std::string name;
    std::string boot_id;
    std::string processor;
    std::string cpus; ///< the CPUs it may run on, like "0-3,8"
    int core = -1;    ///< the CPU it runs on at present
    std::int64_t pid = 0;
    std::int64_t page_bytes = 0;
};
Host host();

/// The environment, as pairs of name and value.
std::vector<std::pair<std::string, std::string>> environment();
/// One variable of the environment.
std::optional<std::string> variable(std::string const &name);

/// CPUs of this host.
int cores() noexcept;
/// Yields this core to another process, if one waits for it.
void yield() noexcept;

/// Makes the kernel kill this process when its parent ends. False if the parent has ended already.
bool die_with_parent() noexcept;

/// After `limit_ns`, writes the slot text with the state `timeout` to `[offset, offset + 64)` of file `fd`, and ends
/// the process with exit code 124. One per process.
void arm_watchdog(std::int64_t limit_ns, int fd, std::int64_t offset);
/// Sets the text that the watchdog would write: the rank's slot, without the state.
void tell_watchdog(std::string_view slot) noexcept;

/// Splits by node in advance, as a library does at its start and a simulator only in the first call. Collective over
/// `comm`.
void split_by_node(MPI_Comm comm);

/// Records the algorithm of a collective call under a name for the call, which all ranks give as they begin it. Only
/// possible in a simulator.
void watch_algorithm(std::string const &call);
/// The recorded algorithm, such as "bruck"; empty if there is none. All ranks ask as they end the call.
std::string noted_algorithm(std::string const &call);

/// The planted faults of tests.
[[noreturn]] void hang();
[[noreturn]] void crash();
void stop();

} // namespace weft::platform
