// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::route {

// Calls work(thread, item) for every item below count; threads take items one by one, so they end together.
template <class Work> void for_each(std::int64_t count, std::int32_t threads, Work work) {
    std::atomic<std::int64_t> next{0};
    auto run = [&](std::int32_t thread) {
        for (std::int64_t item = next++; item < count; item = next++)
            work(thread, item);
    };
    std::vector<std::jthread> others;
    for (std::int32_t thread = 1; thread < threads && thread < count; ++thread)
        others.emplace_back(run, thread);
    run(0);
}

} // namespace weft::route
