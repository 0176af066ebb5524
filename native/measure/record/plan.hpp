// SPDX-License-Identifier: BSD-3-Clause
// The flat plan that src/weft/plan/wire.py writes: lines `key value`, and sections `cell` ... `end`. A value is a list
// of words, or a text in quotes in which \" \\ and \xHH mean one byte each. Comments are lines that begin with #.
#pragma once

#include "mpi/team.hpp"
#include "sample/stop_rule.hpp"
#include "time/barrier.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One cell, with the keys of its kernel.
struct CellPlan {
    std::string name;
    std::string kernel;
    std::string hash; ///< of its parameters, copied into its record
    std::map<std::string, std::string, std::less<>> values;
};

struct Plan {
    std::string launch;
    std::int64_t launch_index = 1;
    std::uint64_t seed = 0;
    std::string run; ///< id of the run, copied into all records
    std::string folder;
    std::string settings_of; ///< the launch of this walk whose record has the library's settings; "" for this one
    bool posix_io = false;
    std::string start = "barrier";
    Rules rules;
    std::int64_t limit_ns = 0;
    std::int64_t memory_limit_bytes = 0;
    std::vector<CellPlan> cells;
};

/// Throws Failure, naming the line, for anything that is not a plan.
Plan parse_plan(std::string_view text);

/// Collective: rank 0 reads the file and broadcasts it.
Plan read_plan(Team const &team, std::string const &path);

/// A whole decimal number; throws Failure naming `key` otherwise.
std::int64_t to_integer(std::string_view text, std::string_view key);

} // namespace weft
