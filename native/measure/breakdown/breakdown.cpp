// SPDX-License-Identifier: BSD-3-Clause
#include "breakdown/breakdown.hpp"

#include "breakdown/plain_exchange.hpp"
#include "breakdown/round_times.hpp"

#include <vector>

namespace weft {

namespace {

constexpr std::int64_t turns_of_breakdown = 4; // besides the call, whose samples the kernel asks for

/// How late the last rank comes by WEFT_PLANT=late: 20 ms, or what WEFT_PLANT_LATE_NS says.
std::int64_t planted_late_ns() {
    return to_integer(platform::variable("WEFT_PLANT_LATE_NS").value_or("20000000"), "WEFT_PLANT_LATE_NS");
}

} // namespace

bool is_explained(Cell const &cell) {
    return cell.integer("explain", 0) != 0 && cell.team().size > 1;
}

void add_breakdown_need(Need &need, Cell const &cell, std::int64_t calls) {
    need.parts.push_back({"breakdown samples", Recorder::bytes(turns_of_breakdown * calls, cell.rules())});
    need.parts.push_back({"breakdown rounds", RoundTimes::bytes(cell.team().size, calls)});
}

void measure_breakdown(Cell &cell, std::string const &op, PeerBlocks const &blocks, std::function<void()> const &call,
                       How how) {
    Sampler &sampler = cell.sampler();
    PlainExchange plain(cell.team(), blocks);
    RoundTimes rounds(cell.team().size);
    std::vector<Turn> turns;
    if (plain.stays_in_node()) {
        turns.push_back({op + ":within", [&] { plain.within(); }});
    }
    if (plain.leaves_node()) {
        turns.push_back({op + ":between", [&] { plain.between(); }});
    }
    turns.push_back({op + ":shift", [&] {
                         auto const ends = rounds.begin(sampler.clock().now());
                         plain.shift(sampler.clock(), ends);
                     }});
    if (plain.has_pairs()) {
        turns.push_back({op + ":pairwise", [&] { plain.pairwise(); }});
    }
    turns.push_back({op, call}); // the last one, which the stop rule judges
    if (planted(cell, "late") && cell.team().rank == cell.team().size - 1) {
        turns.back().late_ns = planted_late_ns();
    }
    Peers::met().meet_all(cell.team().comm); // for the first calls of later cells
    sampler.warm_in_turns(turns, how);
    if (rounds.rows() > 0) {
        rounds.record(sampler.recorder().open(op + ":rounds", Phase::warm, rounds.rows()));
    }
}

} // namespace weft
