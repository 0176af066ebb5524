// SPDX-License-Identifier: BSD-3-Clause
// The kernel `bandwidth`: the rate between two ranks, or of several flows at once, with many messages in flight.
//
//   bytes         sizes of a message; see size_sweep.hpp
//   refine        most sizes to add where times deviate from the line between their neighbours
//   window        messages in flight, at most (64)
//   window_bytes  and most bytes of them together: at least one message is always in flight (64 MiB)
//   cache         hot | cold: the intended state of the footprint | shared: one place for all messages, as in OSU
//   footprint     bytes on either side that the messages cycle through, for all sizes (METHOD 10)
//   pattern       intra-socket | inter-socket | inter-node: verified, see binding.hpp; the first half of the ranks
//                 sends to the second | incast: all others send to rank 0 | outcast: rank 0 sends to all others
//   way           one | both: whether those who receive send as much at the same time (one)
//   transfer      send | put | get (send)
//
// The operation `send@B` (put, get) is one message of a window: the time of a window, acknowledgement included, over
// its messages, those of all flows.
#include "bandwidth/binding.hpp"
#include "bandwidth/message_window.hpp"
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "host/caches.hpp"
#include "mpi/agree.hpp"
#include "mpi/message.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft {

namespace {

bool is_fan(Cell const &cell) {
    std::string const pattern = cell.text("pattern", "");
    return pattern == "incast" || pattern == "outcast";
}

bool both_ways(Cell const &cell) {
    return cell.text("way", "one") == "both";
}

Flows flows_of(Cell const &cell) {
    std::string const pattern = cell.text("pattern", "");
    Flows::Shape const fan = pattern == "incast" ? Flows::Shape::in : Flows::Shape::out;
    return Flows::of(cell.team().rank, cell.team().size, is_fan(cell) ? fan : Flows::Shape::pairs, both_ways(cell));
}

Transfer transfer_of(Cell const &cell) {
    try {
        return transfer_named(cell.text("transfer", "send"));
    } catch (std::out_of_range const &why) {
        throw Failure("cell " + cell.name() + ": " + why.what(),
                      "the plan is of another version of weft: start the study again", true);
    }
}

WindowLimits limits_of(Cell const &cell) {
    WindowLimits const limits{cell.integer("window", 64), cell.integer("window_bytes", std::int64_t{64} << 20),
                              cell.integer("footprint"), cell.text("cache", "") == "shared"};
    if (limits.most_messages < 1 || limits.most_bytes < 1) {
        throw Failure("cell " + cell.name() + ": a window of " + std::to_string(limits.most_messages) +
                          " messages and " + std::to_string(limits.most_bytes) + " bytes",
                      "give the study's [bandwidth] a window of at least one message", true);
    }
    std::int64_t const fan = is_fan(cell) && !limits.shared ? std::max(cell.team().size - 1, 1) : 1;
    std::int64_t const largest = sizes_of(cell).back();
    if (largest > limits.footprint / fan || (fan > 1 && limits.places(largest) < fan)) {
        throw Failure("cell " + cell.name() + ": a message of " + std::to_string(largest) + " bytes for each of " +
                          std::to_string(fan) + " flows in a footprint of " + std::to_string(limits.footprint),
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

/// Refuses the cell if the actual binding of the first pair does not fit the pattern.
void verify_binding(Cell &cell) {
    Team const &team = cell.team();
    if (is_fan(cell)) {
        return;
    }
    Sockets const mine = platform::one_clock() ? 0 : sockets_of(platform::host().cpus);
    std::vector<std::string> const all = all_texts(team, std::to_string(mine));
    BindingFinding const found = check_binding(cell.text("pattern", ""), team.nodes == 1, std::stoull(all.front()),
                                               std::stoull(all[all.size() / 2]));
    if (!found.refusal.empty()) {
        throw Refusal("fabric", found.refusal); // both saw the same, so both throw
    }
    if (!found.warning.empty()) {
        cell.warn(found.warning);
    }
}

/// Proves one window of each size, in separate iterations.
void prove_windows(Cell &cell, MessageWindow &window, std::vector<std::int64_t> const &measured) {
    if (limits_of(cell).shared) {
        return cell.skip_validation("all messages share one place: its contents prove nothing");
    }
    if (!window.real()) {
        return cell.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    Flaws flaws;
    for (std::int64_t const bytes : measured) {
        window.set_size(bytes);
        window.fill();
        window.move_window();
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
    int const ranks = cell.team().size;
    if (is_fan(cell) ? ranks < 2 : ranks < 2 || ranks % 2 != 0) {
        throw Failure("cell " + cell.name() + ": bandwidth is measured between pairs of ranks, not " +
                          std::to_string(ranks),
                      "the plan names two `members` a pair: start the study again", true);
    }
    bool const one_sided = transfer_of(cell) != Transfer::send;
    // MPI_Put and MPI_Get are called with counts of ints under any MPI
    if (std::string const why = message_refusal(sizes.back(), one_sided ? 3 : MPI_VERSION); !why.empty()) {
        throw Refusal("fabric", why);
    }
    return {{{"messages under way", limits_of(cell).footprint * (both_ways(cell) ? 2 : 1)},
             {"samples", Recorder::bytes(most_sizes(cell), cell.rules())},
             {"library staging", library_staging_bytes(ranks)}}};
}

void run_bandwidth(Cell &cell) {
    verify_binding(cell);
    verify_footprint(cell);
    std::vector<std::int64_t> const sizes = sizes_of(cell);
    std::string const message = cell.text("transfer", "send");
    MessageWindow window(cell.team(), limits_of(cell), flows_of(cell), transfer_of(cell));
    Sampler &sampler = cell.sampler();
    auto const call = [&] { window.move_window(); };
    auto const first_call = [&](std::int64_t bytes) {
        window.set_size(bytes);
        sampler.cold(op_at(message, bytes), call, {.operations = window.operations()});
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
        sampler.warm(op_at(message, bytes), call, {.operations = window.operations()});
        measured.push_back(bytes);
    });
    std::sort(measured.begin(), measured.end());
    prove_windows(cell, window, measured);
}

} // namespace weft
