// SPDX-License-Identifier: BSD-3-Clause
// Hooks for tests to insert a failure or a delay into each step of an algorithm. Cost: one relaxed load per step.
#pragma once

#include <atomic>

namespace weft::alltoall {

using StepHook = void (*)(char const *step);

/// Called with the name of each step before it is done: "split", "shm", "attach", "map", "pack", "send", "receive",
/// "wait", "barrier", "unpack".
inline std::atomic<StepHook> step_hook{nullptr};

inline void at_step(char const *step) {
    if (StepHook const hook = step_hook.load(std::memory_order_relaxed)) [[unlikely]] {
        hook(step);
    }
}

} // namespace weft::alltoall
