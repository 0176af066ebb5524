// SPDX-License-Identifier: BSD-3-Clause
// The platform of simulated runs: SimGrid's SMPI. All ranks are threads of one process, and time is that of the
// simulator.
#include "host/platform.hpp"

#include "../../simulate/ranks/folded_memory.hpp"
#include "../../simulate/ranks/machine.hpp"

#include <simgrid/s4u.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>

extern char **environ;

namespace weft::platform {

namespace {

constexpr double ns_per_s = 1e9;
constexpr std::size_t fold_above_default = std::size_t{1} << 20;

/// A property of this rank's node, from the fabric; the zone (native/simulate/machine) sets it.
std::string property(char const *name) {
    auto const *const value = simgrid::s4u::this_actor::get_host()->get_property(name);
    return value ? value : "";
}

std::int64_t number(std::string const &text, std::int64_t otherwise) {
    return text.empty() ? otherwise : std::strtoll(text.c_str(), nullptr, 10);
}

/// Buffers above this many bytes have no content (WEFT_FOLD_ABOVE, set by the launcher).
std::size_t fold_above() {
    auto const *const given = std::getenv("WEFT_FOLD_ABOVE");
    return given ? std::size_t(std::strtoull(given, nullptr, 10)) : fold_above_default;
}

std::size_t whole_pages(std::size_t bytes) {
    auto const page = std::size_t(sysconf(_SC_PAGESIZE));
    return std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
}

using simulate::of_machine;

} // namespace

std::int64_t now_ns() noexcept {
    return std::llround(simgrid::s4u::Engine::get_clock() * ns_per_s);
}

bool one_clock() noexcept {
    return true;
}

void sleep_ns(std::int64_t ns) noexcept {
    simgrid::s4u::this_actor::sleep_for(double(ns) / ns_per_s);
}

std::optional<Pages> Pages::map(std::size_t bytes) {
    Pages made;
    made.bytes_ = whole_pages(bytes);
    made.real_ = bytes <= fold_above();
    if (made.real_) {
        void *const at = mmap(nullptr, made.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        made.data_ = at == MAP_FAILED ? nullptr : static_cast<std::byte *>(at);
    } else {
        simulate::spare_folded_copies();
        made.data_ = simulate::map_folded(made.bytes_);
    }
    if (made.data_ == nullptr) {
        return std::nullopt;
    }
    return made;
}

Pages::~Pages() {
    if (data_ == nullptr) {
        return;
    }
    if (real_) {
        munmap(data_, bytes_);
    } else {
        simulate::unmap_folded(data_, bytes_);
    }
}

// A simulated rank is never disturbed.
Usage usage() noexcept {
    return {};
}

bool knows_delay() noexcept {
    return true; // there is none
}

std::int64_t own_time_ns() noexcept {
    return 0;
}

std::int64_t busy_time_ns(std::vector<int> const &) {
    return 0;
}

std::vector<int> own_cpus() {
    return {};
}

Pressure pressure() {
    return {};
}

Memory memory() {
    constexpr auto endless = std::numeric_limits<std::int64_t>::max();
    auto const bytes = number(property("memory"), 0);
    return {bytes > 0 ? bytes : endless, "fabric", endless};
}

Host host() {
    Host here;
    here.name = property("node");
    here.boot_id = "simulated";
    here.processor = "simulated";
    here.cpus = property("core");
    here.core = int(number(here.cpus, -1));
    here.pid = simgrid::s4u::this_actor::get_pid();
    here.page_bytes = sysconf(_SC_PAGESIZE);
    return here;
}

std::vector<std::pair<std::string, std::string>> environment() {
    std::vector<std::pair<std::string, std::string>> all;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        std::string const text = *entry;
        if (auto const at = text.find('='); at != std::string::npos) {
            all.emplace_back(text.substr(0, at), text.substr(at + 1));
        }
    }
    return all;
}

std::optional<std::string> variable(std::string const &name) {
    auto const *const value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
}

// Simulated ranks never share a core, so none needs to yield.
int cores() noexcept {
    return std::numeric_limits<int>::max();
}

// A rank that polls the clock would wait for ever, since simulated time advances only while ranks sleep or communicate.
void yield() noexcept {
    constexpr double step_s = 1e-6;
    simgrid::s4u::this_actor::sleep_for(step_s);
}

bool die_with_parent() noexcept {
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

// A hung rank would stop the clock with it: the launcher's own limit ends the simulation.
void arm_watchdog(std::int64_t, int, std::int64_t) {}
void tell_watchdog(std::string_view) noexcept {}

void split_by_node(MPI_Comm comm) {
    static auto *const split = of_machine<void(MPI_Comm)>("weft_split_by_node");
    if (split != nullptr) {
        PMPI_Barrier(comm); // no rank is timed, or charged for messages, while another one splits
        split(comm);
        PMPI_Barrier(comm);
    }
}

void watch_algorithm(std::string const &call) {
    static auto *const watch = of_machine<void(char const *)>("weft_watch_algorithm");
    if (watch != nullptr) {
        watch(call.c_str());
    }
}

std::string noted_algorithm(std::string const &call) {
    static auto *const noted = of_machine<char const *(char const *)>("weft_noted_algorithm");
    return noted != nullptr ? noted(call.c_str()) : "";
}

void hang() {
    while (true) {
        simgrid::s4u::this_actor::suspend(); // the simulator then detects the deadlock, and reports it
    }
}

void crash() {
    std::abort();
}

void stop() {
    hang();
}

} // namespace weft::platform
