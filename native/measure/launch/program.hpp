// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft {

/// What main does; in a unit with others, since tests link all but main.
int run_program(int argc, char **argv);

} // namespace weft
