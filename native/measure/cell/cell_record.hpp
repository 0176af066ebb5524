// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cell/cell.hpp"
#include "host/memory.hpp"
#include "sample/recorder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The outcome of a finished cell, besides its samples.
struct Outcome {
    std::string status = "ok"; ///< ok, invalid, memory, or the status of a Refusal
    std::string reason;
    Verdict memory;
    platform::Pressure pressure; ///< summed over all nodes, during the cell
    std::int64_t wall_ns = 0;
    std::vector<std::uint32_t> crcs; ///< empty without samples
    std::string nodes;               ///< what each node says of itself, as JSON (cell/node_report.hpp); or empty
};

/// The weft-cell/2 record.
std::string describe_cell(Plan const &plan, Cell const &cell, Outcome const &outcome, Recorder const &recorder,
                          Clock const &clock, std::vector<std::string> const &warnings);

} // namespace weft
