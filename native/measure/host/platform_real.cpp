// SPDX-License-Identifier: BSD-3-Clause
// The platform of real runs: Linux.
#include "host/platform.hpp"

#include "host/busy_time.hpp"
#include "host/host_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

extern char **environ;

namespace weft::platform {

namespace {

constexpr std::size_t slot_bytes = 64;

/// The only mutable global of the harness: a signal handler has access to nothing else.
struct Watchdog {
    std::array<char, slot_bytes> slot{}; // the rank's last state, ready to be written
    std::atomic<int> fd{-1};
    std::atomic<std::int64_t> offset{0};
};
Watchdog watchdog; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Async-signal-safe: pwrite, poll and _exit only. The launcher kills all ranks when the first one exits, so each waits
// a little, to let the others write their state.
extern "C" void on_alarm(int) {
    if (watchdog.fd >= 0) {
        [[maybe_unused]] ssize_t const written =
            pwrite(watchdog.fd, watchdog.slot.data(), slot_bytes, off_t(watchdog.offset));
    }
    constexpr int others_write_ms = 300;
    poll(nullptr, 0, others_write_ms);
    _exit(124);
}

void set_alarm(std::int64_t ns) noexcept {
    itimerval timer{};
    timer.it_value.tv_sec = time_t(ns / 1'000'000'000);
    timer.it_value.tv_usec = suseconds_t(ns % 1'000'000'000 / 1000);
    if (ns > 0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) {
        timer.it_value.tv_usec = 1; // zero would mean never
    }
    setitimer(ITIMER_REAL, &timer, nullptr);
}

/// The first value after `key` in a table of "key : value" lines.
std::string field(std::string const &text, std::string const &key) {
    std::size_t const at = text.find(key);
    if (at == std::string::npos) {
        return "";
    }
    std::size_t const from = text.find_first_not_of(" \t", text.find(':', at) + 1);
    return text.substr(from, text.find('\n', from) - from);
}

std::int64_t number(std::string const &text, std::string const &key) {
    std::size_t const at = text.find(key);
    return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + key.size(), nullptr, 10);
}

/// "0-3,8" of the CPUs this thread may run on.
std::string allowed_cpus() {
    std::vector<int> const cpus = own_cpus();
    std::string list;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
            ++last;
        }
        list += (list.empty() ? "" : ",") + std::to_string(cpus[first]);
        list += last > first ? "-" + std::to_string(cpus[last]) : "";
        first = last + 1;
    }
    return list;
}

/// How long this thread was runnable without a processor: the second of "run_ns delay_ns turns". -1 if a kernel does
/// not count it (no CONFIG_SCHED_INFO, or "0 0 0"). The first thread that asks is the one that measures.
std::int64_t read_delay_ns() noexcept {
    static int const file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    std::array<char, 80> text{};
    ssize_t const read = pread(file, text.data(), text.size() - 1, 0);
    if (read <= 0) {
        return -1;
    }
    char *second = nullptr;
    std::int64_t const run_ns = std::strtoll(text.data(), &second, 10);
    return run_ns > 0 ? std::strtoll(second, nullptr, 10) : -1;
}

} // namespace

// CLOCK_MONOTONIC, not _RAW: both cost 31 ns on a kernel of 2025, but before Linux 5.3 _RAW is a system call, and the
// same clock on every site matters more than freedom from slewing (500 ppm at most; the drift line corrects it).
std::int64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool one_clock() noexcept {
    return false;
}

void sleep_ns(std::int64_t ns) noexcept {
    timespec left{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

std::optional<Pages> Pages::map(std::size_t bytes) {
    auto const page = std::size_t(sysconf(_SC_PAGESIZE));
    std::size_t const whole = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
    if (whole < bytes) {
        return std::nullopt; // the sum exceeded 2^64
    }
    void *const at = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return std::nullopt;
    }
    Pages pages;
    pages.data_ = static_cast<std::byte *>(at);
    pages.bytes_ = whole;
    return pages;
}

Pages::~Pages() {
    if (data_ != nullptr) {
        munmap(data_, bytes_);
    }
}

bool knows_delay() noexcept {
    static bool const known = read_delay_ns() >= 0;
    return known;
}

Usage usage() noexcept {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return {knows_delay() ? read_delay_ns() : 0, used.ru_nivcsw, used.ru_majflt};
}

std::int64_t own_time_ns() noexcept {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::int64_t(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

std::int64_t busy_time_ns(std::vector<int> const &cpus) {
    return busy_ticks(read_text("/proc/stat"), cpus) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

std::vector<int> own_cpus() {
    constexpr int most = 1 << 14;
    cpu_set_t *const set = CPU_ALLOC(most);
    std::size_t const bytes = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(bytes, set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, bytes, set) == 0) {
        for (int cpu = 0; cpu < most; ++cpu) {
            if (CPU_ISSET_S(cpu, bytes, set)) {
                cpus.push_back(cpu);
            }
        }
    }
    CPU_FREE(set);
    return cpus;
}

Pressure pressure() {
    std::string const pages = "\n" + read_text("/proc/vmstat");
    std::istringstream cpu(read_text("/proc/stat")); // "cpu user nice system idle iowait irq softirq steal ..."
    std::string word;
    std::int64_t ticks = 0;
    cpu >> word;
    for (int column = 0; column < 8; ++column) {
        cpu >> ticks;
    }
    return {number(pages, "\npswpin "), number(pages, "\npswpout "), ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK))};
}

Memory memory() {
    return read_memory("");
}

Host host() {
    Host here;
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    here.name = variable(variable("WEFT_NODE_NAMED_BY").value_or("")).value_or(name.data()); // set: nodes made up here
    std::string const boot = read_text("/proc/sys/kernel/random/boot_id");
    here.boot_id = boot.substr(0, boot.find('\n'));
    here.processor = field(read_text("/proc/cpuinfo"), "model name");
    here.cpus = allowed_cpus();
    here.core = sched_getcpu();
    here.pid = getpid();
    here.page_bytes = sysconf(_SC_PAGESIZE);
    return here;
}

std::vector<std::pair<std::string, std::string>> environment() {
    std::vector<std::pair<std::string, std::string>> all;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        std::string const line = *entry;
        std::size_t const equals = line.find('=');
        if (equals != std::string::npos) {
            all.emplace_back(line.substr(0, equals), line.substr(equals + 1));
        }
    }
    return all;
}

std::optional<std::string> variable(std::string const &name) {
    char const *const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int cores() noexcept {
    return int(sysconf(_SC_NPROCESSORS_ONLN));
}

void yield() noexcept {
    sched_yield();
}

bool die_with_parent() noexcept {
    pid_t const parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the call above; then init or a subreaper is the parent now. A parent that ended
    // even before the first line cannot be distinguished from a launcher that is process 1, as in a container.
    return getppid() == parent;
}

void arm_watchdog(std::int64_t limit_ns, int fd, std::int64_t offset) {
    if (limit_ns <= 0) {
        return;
    }
    watchdog.fd = fd;
    watchdog.offset = offset;
    struct sigaction action{};
    action.sa_handler = on_alarm;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm; // a launcher may have left it blocked
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    set_alarm(limit_ns);
}

void tell_watchdog(std::string_view slot) noexcept {
    constexpr std::string_view end = " timeout";
    std::size_t const kept = std::min(slot.size(), slot_bytes - end.size() - 1);
    watchdog.slot.fill('\0');
    std::copy_n(slot.begin(), kept, watchdog.slot.begin());
    std::copy(end.begin(), end.end(), watchdog.slot.begin() + std::ptrdiff_t(kept));
}

void split_by_node(MPI_Comm) {}
void watch_algorithm(std::string const &) {}
std::string noted_algorithm(std::string const &) {
    return {};
}

void hang() {
    while (true) {
        sleep_ns(1'000'000'000);
    }
}

void crash() {
    raise(SIGKILL); // no core file, no handler of the MPI library
    _exit(1);
}

void stop() {
    raise(SIGSTOP);
}

} // namespace weft::platform
