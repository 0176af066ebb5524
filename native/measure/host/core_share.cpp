// SPDX-License-Identifier: BSD-3-Clause
#include "host/core_share.hpp"

#include "common/crc32.hpp"
#include "host/platform.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace weft {

namespace {

constexpr std::size_t most_cpus = 1 << 14;

/// CPUs that any rank of the machine may use.
std::vector<int> cpus_of(Comm const &machine) {
    std::vector<unsigned char> allowed(most_cpus / 8);
    for (int const cpu : platform::own_cpus()) {
        allowed[std::size_t(cpu) / 8] |= static_cast<unsigned char>(1U << (unsigned(cpu) % 8));
    }
    check(PMPI_Allreduce(MPI_IN_PLACE, allowed.data(), int(allowed.size()), MPI_UNSIGNED_CHAR, MPI_BOR, machine),
          "MPI_Allreduce of CPUs");
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < most_cpus; ++cpu) {
        if ((allowed[cpu / 8] >> (cpu % 8) & 1) != 0) {
            cpus.push_back(int(cpu));
        }
    }
    return cpus;
}

} // namespace

CoreShare::CoreShare(MPI_Comm comm) {
    if (platform::one_clock()) {
        return; // simulated ranks do not share cores
    }
    int rank = 0;
    check(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    std::string const boot = platform::host().boot_id;
    machine_ = Comm::split(comm, int(crc32(std::as_bytes(std::span(boot))) & 0x7fff'ffff), rank);
    first_ = machine_.rank() == 0;
    cpus_ = cpus_of(machine_);
    by_plan_ = max_over(comm, machine_.size() > int(cpus_.size()) ? 1 : 0) != 0;
    delay_is_known_ = min_over(comm, platform::knows_delay() ? 1 : 0) != 0;
}

CoreTimes CoreShare::read() const {
    return {platform::now_ns(), platform::own_time_ns(), first_ ? platform::busy_time_ns(cpus_) : 0};
}

std::int64_t CoreShare::others_ns(CoreTimes const &before, CoreTimes const &after) const {
    std::int64_t ours_ns = after.own_ns - before.own_ns;
    check(PMPI_Reduce(first_ ? MPI_IN_PLACE : &ours_ns, &ours_ns, 1, MPI_INT64_T, MPI_SUM, 0, machine_),
          "MPI_Reduce of processor times");
    // Three columns of each CPU are cut to ticks of 10 ms: the difference of two readings errs by up to 10 ms each.
    auto const resolution_ns = std::int64_t(20e6 * std::sqrt(double(cpus_.size())));
    std::int64_t const others_ns = after.busy_ns - before.busy_ns - ours_ns;
    return first_ && others_ns > resolution_ns ? others_ns : 0;
}

} // namespace weft
