// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft::simulate {

// To be called on the stack of a rank that sends: notes the algorithm that the rank is inside of, where a collective
// call is watched and no rank's message has told yet.
void note_algorithm();

} // namespace weft::simulate

// Asked for by the ranks' platform (native/measure/host/platform_simulated.cpp), which finds them by name.
extern "C" {
// Every rank says so as it begins the call; the first to say another name begins a new watch.
void weft_watch_algorithm(char const *call);
// The algorithm seen in the call that is watched, such as "bruck"; "" where none was, or the watch is of another call.
char const *weft_noted_algorithm(char const *call);
}
