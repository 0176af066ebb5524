// SPDX-License-Identifier: BSD-3-Clause
#include "cell/node_report.hpp"

#include "common/json.hpp"
#include "host/platform.hpp"
#include "mpi/agree.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace weft {

namespace {

constexpr std::size_t chunks = 12;
constexpr std::size_t least_chunks = 4; // of a node so slow that its peers would wait for seconds
constexpr std::int64_t most_pace_ns = 100'000'000;
constexpr std::size_t page_bytes = 4096;
constexpr std::int64_t loop_steps = 200'000; // some tenths of a millisecond
std::int64_t process_date_ns = 0;
std::int64_t process_began_ns = 0;
std::int64_t mpi_init_ns = 0;

std::int64_t lower_quartile(std::vector<std::int64_t> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 4];
}

/// Each step needs the result of the one before: the time is that of a core's clock.
std::uint64_t computed(std::uint64_t value) {
    for (std::int64_t step = 0; step < loop_steps; ++step) {
        value = value * 6364136223846793005ULL + (value >> 29) + 1;
    }
    return value;
}

std::string kernel_release() {
    utsname names{};
    return uname(&names) == 0 ? names.release : "";
}

} // namespace

bool is_check(Cell const &cell) {
    return cell.integer("check", 0) != 0;
}

std::int64_t node_report_bytes() noexcept {
    return 2 * std::int64_t(chunks) * OwnPace::copy_bytes;
}

void note_start(std::int64_t date_ns, std::int64_t began_ns, std::int64_t init_ns) noexcept {
    process_date_ns = date_ns;
    process_began_ns = began_ns;
    mpi_init_ns = init_ns;
}

std::int64_t process_start_ns() noexcept {
    return process_began_ns;
}

std::vector<std::int64_t> times_of(std::size_t most, std::int64_t most_ns,
                                   std::function<void(std::size_t)> const &work) {
    std::vector<std::int64_t> times;
    std::int64_t const began = platform::now_ns();
    for (std::int64_t last = began; times.size() < most && (times.size() < least_chunks || last - began < most_ns);) {
        std::int64_t const from = platform::now_ns();
        work(times.size());
        last = platform::now_ns();
        times.push_back(last - from);
    }
    return times;
}

OwnPace measure_own_pace() {
    OwnPace pace;
    auto const bytes = std::size_t(OwnPace::copy_bytes);
    auto from = platform::Pages::map(chunks * bytes);
    auto to = platform::Pages::map(chunks * bytes);
    if (from && to && from->real() && to->real()) {
        // untouched pages would all be the one of zeros
        auto const touched = times_of(chunks, most_pace_ns, [&](std::size_t i) {
            for (std::size_t at = i * bytes; at < (i + 1) * bytes; at += page_bytes) {
                from->data()[at] = std::byte{1};
                to->data()[at] = std::byte{2};
            }
        });
        pace.copy_ns = lower_quartile(times_of(touched.size(), most_pace_ns, [&](std::size_t i) {
            std::memcpy(to->data() + i * bytes, from->data() + i * bytes, bytes);
        }));
    }
    std::uint64_t value = 1;
    auto const times = times_of(chunks, most_pace_ns, [&](std::size_t) { value = computed(value); });
    pace.loop_ns = lower_quartile(times) + std::int64_t(value == 0); // so that the computation is needed
    return pace;
}

NodeReport::NodeReport(Team const &team) : team_(team) {
    if (team.local_rank != 0) {
        return;
    }
    pace_ = measure_own_pace();
    before_ = read_counters("");
    waited_ns_ = platform::usage().delay_ns;
    began_ns_ = platform::now_ns();
}

std::string NodeReport::gather(std::string const &library) const {
    Json json;
    if (team_.local_rank == 0) {
        std::int64_t const wall_ns = platform::now_ns() - began_ns_;
        std::int64_t const waited_ns = platform::usage().delay_ns - waited_ns_;
        Counters const counted = counted_between(before_, read_counters(""));
        OwnPace const again = measure_own_pace(); // a disturbance of some duration does not affect both
        json.begin_object().member("host", team_.hosts[std::size_t(team_.node)]).member("node", team_.node);
        json.member("began_ns", process_date_ns).member("init_ns", mpi_init_ns);
        json.member("mpi", library).member("kernel", kernel_release());
        json.member("cpus", std::int64_t(platform::own_cpus().size()));
        json.member("copy_bytes", OwnPace::copy_bytes).member("copy_ns", std::min(pace_.copy_ns, again.copy_ns));
        json.member("loop_ns", std::min(pace_.loop_ns, again.loop_ns));
        json.member("waited_ns", waited_ns).member("wall_ns", wall_ns);
        json.member("network_sent", counted.network_sent);
        std::int64_t by_adapters = 0;
        for (auto const &[name, bytes] : counted.adapter_sent) {
            by_adapters += bytes;
        }
        json.member("adapters", std::int64_t(counted.adapter_sent.size())).member("adapter_sent", by_adapters);
        json.key("errors").begin_object();
        for (auto const &[name, count] : counted.errors) {
            json.member(name, count);
        }
        json.end_object().key("rates").begin_object();
        for (auto const &[name, rate] : counted.rates) {
            json.member(name, rate);
        }
        json.end_object().end_object();
    }
    std::string nodes;
    for (std::string const &text : texts_on_rank_0(team_, json.text())) {
        nodes += (nodes.empty() || text.empty() ? "" : ",") + text;
    }
    return "[" + nodes + "]";
}

} // namespace weft
