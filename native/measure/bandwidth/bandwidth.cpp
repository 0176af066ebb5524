// SPDX-License-Identifier: BSD-3-Clause
// The kernel `bandwidth`: the one-way rate between two ranks with many messages in flight.
//
//   bytes         sizes of a message; see size_sweep.hpp
//   refine        most sizes to add where times deviate from the line between their neighbours
//   window        messages in flight, at most (64)
//   window_bytes  and most bytes of them together: at least one message is always in flight (64 MiB)
//   cache         hot | cold: the intended state of the footprint
//   footprint     bytes on either side that the messages cycle through, for all sizes (METHOD 10)
//   pattern       intra-socket | inter-socket | inter-node: verified, see binding.hpp
//
// The operation `send@B` is one message of a window: the time of a window, acknowledgement included, over its messages.
#include "bandwidth/binding.hpp"
#include "bandwidth/message_window.hpp"
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "host/caches.hpp"
#include "mpi/agree.hpp"
#include "mpi/message.hpp"

#include <algorithm>

namespace weft {

namespace {

constexpr char const *message = "send";

WindowLimits limits_of(Cell const &cell) {
    WindowLimits const limits{cell.integer("window", 64), cell.integer("window_bytes", std::int64_t{64} << 20),
                              cell.integer("footprint")};
    if (limits.most_messages < 1 || limits.most_bytes < 1) {
        throw Failure("cell " + cell.name() + ": a window of " + std::to_string(limits.most_messages) +
                          " messages and " + std::to_string(limits.most_bytes) + " bytes",
                      "give the study's [bandwidth] a window of at least one message", true);
    }
    if (std::int64_t const largest = sizes_of(cell).back(); largest > limits.footprint) {
        throw Failure("cell " + cell.name() + ": a message of " + std::to_string(largest) +
                          " bytes in a footprint of " + std::to_string(limits.footprint),
                      "give the study's [bandwidth] a footprint that holds its largest message", true);
    }
    return limits;
}

/// Checks that the footprint is as hot or cold as its name says; unknown in a simulator.
void verify_footprint(Cell &cell) {
    std::int64_t const holds = platform::one_clock() ? 0 : last_cache_bytes(platform::host().cpus);
    std::string const warning = doubt_footprint(cell.text("cache", ""), cell.integer("footprint"), holds);
    if (!warning.empty()) {
        cell.warn(warning);
    }
}

/// Refuses the cell if the actual binding does not fit the pattern.
void verify_binding(Cell &cell) {
    Team const &team = cell.team();
    Sockets const mine = platform::one_clock() ? 0 : sockets_of(platform::host().cpus);
    std::vector<std::string> const both = all_texts(team, std::to_string(mine));
    BindingFinding const found =
        check_binding(cell.text("pattern", ""), team.nodes == 1, std::stoull(both[0]), std::stoull(both[1]));
    if (!found.refusal.empty()) {
        throw Refusal("fabric", found.refusal); // both saw the same, so both throw
    }
    if (!found.warning.empty()) {
        cell.warn(found.warning);
    }
}

/// Proves one window of each size, in separate iterations.
void prove_windows(Cell &cell, MessageWindow &window, std::vector<std::int64_t> const &measured) {
    if (!window.real()) {
        return cell.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    Flaws flaws;
    for (std::int64_t const bytes : measured) {
        window.set_size(bytes);
        window.fill();
        window.send_window();
        if (planted(cell, "corrupt")) {
            window.corrupt(window.messages() / 2, bytes / 2);
        }
        flaws.join(window.check_received());
    }
    cell.set_validation(std::int64_t(flaws.count), flaws.first);
}

} // namespace

Need bandwidth_need(Cell const &cell) {
    std::vector<std::int64_t> const sizes = sizes_of(cell);
    if (cell.team().size != 2) {
        throw Failure("cell " + cell.name() + ": bandwidth is measured between 2 ranks, not " +
                          std::to_string(cell.team().size),
                      "the plan names two `members`: start the study again", true);
    }
    if (std::string const why = message_refusal(sizes.back()); !why.empty()) {
        throw Refusal("fabric", why);
    }
    return {{{"messages under way", limits_of(cell).footprint},
             {"samples", Recorder::bytes(most_sizes(cell), cell.rules())},
             {"library staging", library_staging_bytes(2)}}};
}

void run_bandwidth(Cell &cell) {
    verify_binding(cell);
    verify_footprint(cell);
    std::vector<std::int64_t> const sizes = sizes_of(cell);
    MessageWindow window(cell.team(), limits_of(cell));
    Sampler &sampler = cell.sampler();
    auto const call = [&] { window.send_window(); };
    auto const first_call = [&](std::int64_t bytes) {
        window.set_size(bytes);
        sampler.cold(op_at(message, bytes), call, {.operations = window.messages()});
    };
    for (std::int64_t const bytes : sizes) {
        first_call(bytes);
    }
    std::vector<std::int64_t> measured;
    sweep_sizes(cell, message, 1, [&](std::int64_t bytes) {
        if (std::find(sizes.begin(), sizes.end(), bytes) == sizes.end()) {
            first_call(bytes);
        }
        window.set_size(bytes);
        sampler.warm(op_at(message, bytes), call, {.operations = window.messages()});
        measured.push_back(bytes);
    });
    std::sort(measured.begin(), measured.end());
    prove_windows(cell, window, measured);
}

} // namespace weft
