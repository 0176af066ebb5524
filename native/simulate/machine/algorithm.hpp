// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft::simulate {

// Call on the stack of a rank that sends: records the algorithm on the stack, if a collective call is watched and its
// algorithm is not yet known.
void note_algorithm();

} // namespace weft::simulate

// Used by the ranks' platform (native/measure/host/platform_simulated.cpp), which finds them by name.
extern "C" {
// Every rank calls it before the collective; the first rank with a new name starts a new watch.
void weft_watch_algorithm(char const *call);
// The algorithm seen in the watched call, such as "bruck"; "" if none was seen or another call is watched.
char const *weft_noted_algorithm(char const *call);
}
