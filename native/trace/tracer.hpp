// SPDX-License-Identifier: BSD-3-Clause
// The tracer of one rank, from MPI_Init to MPI_Finalize. Rank 0's environment applies to all ranks.
//
//   WEFT_TRACE=FOLDER      write raw/rank-NNNNNNN.trace there
//   WEFT_TRACE_MOST=BYTES  of a rank's file, e.g. 1GiB (the default); what follows is summarised
#pragma once

#include "file.hpp"
#include "groups.hpp"
#include "requests.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft {
class Clock;
}

namespace weft::trace {

class Tracer {
  public:
    /// Once, right after MPI_Init. Collective over MPI_COMM_WORLD.
    void begin();
    /// Once, right before MPI_Finalize. Collective over MPI_COMM_WORLD.
    void end();
    bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
    /// In the child of a fork, which shares the mapped file.
    void leave_to_parent() noexcept { active_ = false; }

    /// Several threads may call MPI at once.
    bool many_threads() const noexcept { return many_threads_; }

    File &file() noexcept { return *written_; }
    /// From here on records go to another file; the one until now.
    File &write_to(File &other) noexcept { return *std::exchange(written_, &other); }
    Groups &groups() noexcept { return groups_; }
    Requests &requests() noexcept { return requests_; }
    Messages &messages() noexcept { return messages_; }
    /// Notes what the processors did until now, at most once a second: a call ends at `now_ns`. For thread 0.
    void look(std::int64_t now_ns) {
        if (now_ns >= next_look_ns_) {
            look_now(now_ns);
        }
    }
    /// Number of a place in the program, by its address; defined at its first call.
    std::uint32_t site(void const *address);

  private:
    bool open(std::string const &folder, std::int64_t most_bytes);
    void describe();
    void read_clock();
    void look_now(std::int64_t now_ns);
    std::uint32_t new_site(void const *address);

    std::atomic<bool> active_{false};
    bool begun_ = false;
    bool many_threads_ = false;
    File file_;
    File *written_ = &file_;
    Groups groups_;
    Requests requests_;
    Messages messages_;
    std::unique_ptr<Clock> clock_;
    /// What the processors have done, from boot on.
    struct Processors {
        std::int64_t lost_ns, own_ns, busy_ns, steal_ns;
    };
    static Processors processors(std::vector<int> const &cpus);
    std::vector<int> cpus_;
    Processors at_begin_{};
    std::int64_t next_look_ns_ = 0;
    static constexpr std::int64_t looks_apart_ns = 1'000'000'000;
    std::mutex guard_;
    std::unordered_map<void const *, std::uint32_t> sites_;
};

Tracer &tracer();
std::int64_t now_ns() noexcept;
/// Number of the calling thread, from 0 in the order of first calls.
std::uint32_t thread_number() noexcept;
/// ns that a traced call costs, without the call itself (cost.cpp); 0 if there is no room to measure it.
double measured_cost();

} // namespace weft::trace
