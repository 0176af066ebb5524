// SPDX-License-Identifier: BSD-3-Clause
// Hooks by which tests insert failures or delays into the steps of an algorithm, and the simulator its copies. What
// users run on a real MPI has none.
#pragma once

#include <atomic>

namespace weft::alltoall {

using StepHook = void (*)(char const *step);

#if defined(WEFT_FAULTS) || defined(WEFT_SIMULATED)
/// Called with the name of each step before it is done: "split", "shm", "attach", "map", "pack", "send", "receive",
/// "wait", "barrier", "unpack", "end" (of the call).
inline std::atomic<StepHook> step_hook{nullptr};

inline void at_step(char const *step) {
    if (StepHook const hook = step_hook.load(std::memory_order_relaxed)) [[unlikely]] {
        hook(step);
    }
}
#else
constexpr void at_step(char const *) {}
#endif

} // namespace weft::alltoall
