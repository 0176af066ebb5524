// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>

namespace weft::simulate {

// Ends the simulation with an exit code. Not by an exception, which SimGrid would print with its own backtrace, and not
// by exit(), which SMPI's headers redefine to end one rank.
[[noreturn]] inline void leave(char const *why, int code = 1) {
    std::fprintf(stderr, "weft: error: %s\n", why);
    std::fflush(nullptr);
    std::_Exit(code);
}

} // namespace weft::simulate
