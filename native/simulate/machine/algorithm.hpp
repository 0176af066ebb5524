// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft::simulate {

// Call on the stack of a rank that sends: records the algorithm on the stack, if a collective call is watched and its
// algorithm is not yet known.
void note_algorithm();

} // namespace weft::simulate

// Used by the ranks' platform (native/measure/host/platform_simulated.cpp), which finds them by name.
extern "C" {
// Every rank calls it before the collective; the first rank with a new name starts a new watch, which lasts until as
// many ranks have asked what was noted: a walk up the stack takes longer than simulating a message.
void weft_watch_algorithm(char const *call);
// Every rank calls it after the collective: the algorithm seen in it, such as "bruck"; "" if none was seen or another
// call is watched.
char const *weft_noted_algorithm(char const *call);
}
