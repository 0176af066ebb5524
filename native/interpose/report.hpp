// SPDX-License-Identifier: BSD-3-Clause
// Report of an application's calls: WEFT_REPORT.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace weft::interpose {

/// The properties by which calls are counted together.
struct Line {
    std::string op;         // "MPI_Alltoall"
    std::string algorithm;  // the algorithm that ran
    int ranks = 0;          // of the communicator
    int nodes = 0;          // 0: not determined
    std::int64_t bytes = 0; // upper limit per pair of ranks: a power of two, or 0

    auto operator<=>(Line const &) const = default;
};

struct Sums {
    std::int64_t calls = 0; // over ranks: a collective call of p ranks is p
    double seconds = 0;
    std::int64_t verified = 0;
    std::int64_t different = 0;
    double verified_seconds = 0; // of the calls that were verified
    double library_seconds = 0;  // the library's time for the same
};

/// Reductions of one rank, by which the ranks agreed on sizes.
struct Agreements {
    std::int64_t count = 0;
    double seconds = 0;
};

class Report {
  public:
    void add(Line const &line, Sums const &sums);
    /// Counts a call that is passed on to the library unchanged.
    void pass(char const *name);
    /// Writes a report that says it is not complete, on rank 0: a job that aborts leaves it, and not that of the job
    /// before. Collective over `comm`.
    void begin(std::string const &path, MPI_Comm comm) const;
    /// Counts one reduction by which the ranks agreed on the size of an MPI_Alltoallv.
    void agree(double seconds);
    /// Writes the sums of all ranks to `path`, on rank 0. Collective over `comm`.
    void write(std::string const &path, MPI_Comm comm) const;

  private:
    std::string to_text() const;

    mutable std::mutex guard_; // an application may call from several threads
    std::map<Line, Sums> lines_;
    std::map<std::string, std::int64_t> passed_;
    Agreements agreements_;
};

/// The smallest power of two that is not below `bytes`; 0 for 0.
std::int64_t size_class(std::int64_t bytes) noexcept;

} // namespace weft::interpose
