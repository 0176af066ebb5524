// SPDX-License-Identifier: BSD-3-Clause
// What every node says of itself around a cell: how it started, what it runs, how fast it is alone, what its adapters
// counted meanwhile. A slow node is then told from a slow cable.
#pragma once

#include "cell/cell.hpp"
#include "host/counters.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {

/// Whether the nodes of a cell report on themselves.
bool is_check(Cell const &cell);

/// Bytes that a report allocates meanwhile, on the first rank of each node.
std::int64_t node_report_bytes() noexcept;

/// Notes when this process began, by the clock of the date and by the monotonic one, and how long MPI_Init took.
void note_start(std::int64_t date_ns, std::int64_t began_ns, std::int64_t init_ns) noexcept;
/// When this process began, by the monotonic clock; 0 if that was not noted.
std::int64_t process_start_ns() noexcept;

/// Time of a fixed copy and of a fixed computation, each the lower quartile of several: who gave way once is not slow.
struct OwnPace {
    std::int64_t copy_ns = 0; ///< of `OwnPace::copy_bytes`; 0 without memory for it
    std::int64_t loop_ns = 0;
    static constexpr std::int64_t copy_bytes = 2 << 20;
};
OwnPace measure_own_pace();

/// Times of `work(0)`, `work(1)` and so on: at most so many, and fewer once they took `most_ns` together, but four.
std::vector<std::int64_t> times_of(std::size_t most, std::int64_t most_ns,
                                   std::function<void(std::size_t)> const &work);

class NodeReport {
  public:
    /// Not collective: no message is sent.
    explicit NodeReport(Team const &team);
    /// Collective: a JSON array with an object for each node, on rank 0. `library` is this rank's MPI library.
    std::string gather(std::string const &library) const;

  private:
    Team const &team_;
    Counters before_;
    OwnPace pace_;
    std::int64_t waited_ns_ = 0;
    std::int64_t began_ns_ = 0;
};

} // namespace weft
