// SPDX-License-Identifier: BSD-3-Clause
#include "tracer.hpp"

#include "host/platform.hpp"
#include "mark.hpp"
#include "mpi/team.hpp"
#include "time/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::trace {

namespace {

constexpr std::int64_t default_most_bytes = std::int64_t(1) << 30;

__attribute__((constructor)) void loaded() {
    leave_mark(mark_loaded);
}

/// Rank 0's value of a variable, on all ranks.
std::string agreed(char const *name) {
    char const *const value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    int size = int(text.size());
    PMPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    text.resize(std::size_t(size));
    PMPI_Bcast(text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

/// Bytes of a text such as 64MiB; the default if it is none.
std::int64_t bytes_of(std::string const &text) {
    char *unit = nullptr;
    double const number = std::strtod(text.c_str(), &unit);
    int const power = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : *unit == 'T' ? 40 : 0;
    return number > 0 ? std::int64_t(number * double(std::int64_t(1) << power)) : default_most_bytes;
}

std::string text_of(void const *address) {
    Dl_info found{};
    if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) {
        return "?";
    }
    char const *const slash = std::strrchr(found.dli_fname, '/');
    std::string const program = slash == nullptr ? found.dli_fname : slash + 1;
    char place[32];
    bool const named = found.dli_sname != nullptr;
    auto const from = reinterpret_cast<std::uintptr_t>(named ? found.dli_saddr : found.dli_fbase);
    std::snprintf(place, sizeof place, "+0x%zx", std::size_t(reinterpret_cast<std::uintptr_t>(address) - from));
    return named ? std::string(found.dli_sname) + place + " (" + program + ")" : program + place;
}

void copy_text(char *to, std::size_t most, std::string const &text) {
    std::memcpy(to, text.data(), std::min(most - 1, text.size()));
}

} // namespace

Tracer &tracer() {
    static Tracer &one = *new Tracer; // never destroyed: threads may call until the very end
    return one;
}

std::int64_t now_ns() noexcept {
    return platform::now_ns();
}

std::uint32_t thread_number() noexcept {
    static std::atomic<std::uint32_t> seen{0};
    thread_local std::uint32_t const number = seen++;
    return number;
}

void Tracer::begin() {
    if (begun_) {
        return;
    }
    begun_ = true;
    leave_mark(mark_begun);
    std::string const folder = agreed("WEFT_TRACE");
    std::string const most = agreed("WEFT_TRACE_MOST");
    if (folder.empty()) {
        return;
    }
    if (!open(folder, bytes_of(most))) {
        return; // measuring clocks is collective
    }
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    many_threads_ = level == MPI_THREAD_MULTIPLE;
    groups_.begin();
    describe();
    pthread_atfork(nullptr, nullptr, [] { tracer().leave_to_parent(); });
    active_ = true;
}

// All ranks have a file, or none; the first rank without one says why.
bool Tracer::open(std::string const &folder, std::int64_t most_bytes) {
    int rank = 0, ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char name[40];
    std::snprintf(name, sizeof name, "/raw/rank-%07d.trace", rank);
    ::mkdir(folder.c_str(), 0777);
    ::mkdir((folder + "/raw").c_str(), 0777);
    std::string const problem = file_.open(folder + name, most_bytes);
    int const mine = problem.empty() ? ranks : rank;
    int first = ranks;
    PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank) {
        std::fprintf(stderr,
                     "weft: no trace of this program: %s -> set WEFT_TRACE to a folder that every rank can write, one "
                     "for each program\n",
                     problem.c_str());
    }
    if (first != ranks) {
        file_.discard();
    }
    return first == ranks;
}

void Tracer::describe() {
    Team const team = make_team(MPI_COMM_WORLD);
    clock_ = std::make_unique<Clock>(team);
    clock_->begin();
    Head &head = file_.head();
    head.rank = team.rank;
    head.ranks = team.size;
    head.node = team.node;
    head.local_rank = team.local_rank;
    head.pid = ::getpid();
    copy_text(head.host, sizeof head.host, team.hosts[std::size_t(team.node)]);
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(library, &length);
    copy_text(head.library, sizeof head.library, std::string(library, std::strcspn(library, "\n")));
    read_clock();
    platform::Host const here = platform::host();
    copy_text(head.cpus, sizeof head.cpus, here.cpus);
    head.host_cpus = platform::cores();
    getloadavg(&head.load, 1);
    cpus_ = platform::own_cpus();
    at_begin_ = processors(cpus_);
    head.opened_ns = now_ns();
    next_look_ns_ = head.opened_ns + looks_apart_ns;
}

Tracer::Processors Tracer::processors(std::vector<int> const &cpus) {
    std::int64_t const lost_ns = platform::knows_delay() ? platform::usage().delay_ns : -1;
    return {lost_ns, platform::own_time_ns(), platform::busy_time_ns(cpus), platform::pressure().steal_ns};
}

// In the file from now on: a rank that is killed keeps what it had noted.
void Tracer::look_now(std::int64_t now_ns) {
    Processors const now = processors(cpus_);
    Head &head = file_.head();
    head.lost_ns = now.lost_ns < 0 ? -1 : now.lost_ns - at_begin_.lost_ns;
    head.own_ns = now.own_ns - at_begin_.own_ns;
    head.busy_ns = now.busy_ns - at_begin_.busy_ns;
    head.steal_ns = now.steal_ns - at_begin_.steal_ns;
    head.looked_ns = now_ns;
    next_look_ns_ = now_ns + looks_apart_ns;
}

void Tracer::read_clock() {
    Head &head = file_.head();
    Offset const &line = clock_->line();
    head.line_local_ns = line.local_ns;
    head.line_ns = line.ns;
    head.line_drift = line.drift;
    head.residual_ns = clock_->residual_ns();
    head.uncertainty_ns = clock_->uncertainty_ns();
    head.state |= clock_->shared() ? shared_clock : 0U;
}

void Tracer::end() {
    if (!active()) {
        return;
    }
    look_now(now_ns());
    file_.head().cost_ns = measured_cost();
    active_ = false;
    std::int64_t const now = now_ns();
    clock_->end();
    read_clock();
    file_.head().state |= clock_closed;
    clock_.reset(); // its communicators
    file_.close(now);
}

std::uint32_t Tracer::site(void const *address) {
    constexpr std::size_t remembered = 64;
    struct Place {
        void const *address = nullptr;
        std::uint32_t number = 0;
    };
    thread_local Place places[remembered];
    Place &place = places[(reinterpret_cast<std::uintptr_t>(address) >> 2) % remembered];
    if (place.address != address) {
        place = {address, new_site(address)};
    }
    return place.number;
}

std::uint32_t Tracer::new_site(void const *address) {
    std::lock_guard const lock(guard_);
    auto const [found, is_new] = sites_.try_emplace(address, std::uint32_t(sites_.size() + 1));
    if (is_new) {
        std::string const text = text_of(address);
        std::vector<Record> parts;
        for (std::size_t first = 0; first < text.size(); first += payload_bytes) {
            std::size_t const valid = std::min(payload_bytes, text.size() - first);
            Record part;
            part.call = site_text;
            part.site = found->second;
            part.peer = std::int32_t(valid);
            std::memcpy(reinterpret_cast<char *>(&part) + offsetof(Record, begin_ns), &text[first], valid);
            parts.push_back(part);
        }
        file().define(parts);
    }
    return found->second;
}

} // namespace weft::trace
