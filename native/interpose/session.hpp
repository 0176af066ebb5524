// SPDX-License-Identifier: BSD-3-Clause
// The interposer's settings from its environment, from MPI_Init to MPI_Finalize. Rank 0's environment applies to all
// ranks.
//
//   WEFT_ALLTOALL=SPEC   this algorithm for every MPI_Alltoall and MPI_Alltoallv
//   WEFT_TABLE=FILE      otherwise choose by a selection table (table.hpp)
//   WEFT_REPORT=FILE     write a report of the calls at the end; until then it says that it is not complete
//   WEFT_VERIFY=K        repeat every K-th MPI_Alltoall and every K-th MPI_Alltoallv on a communicator with the
//                        library, compare, and fail if they differ
//   WEFT_PREWARM=1       connect all pairs of ranks in MPI_Init, a few at a time
#pragma once

#include "report.hpp"
#include "spec.hpp"
#include "table.hpp"

#include <atomic>
#include <optional>

namespace weft::interpose {

class Session {
  public:
    /// Once, right after MPI_Init. Collective over MPI_COMM_WORLD. Ends the job if the settings are invalid.
    void begin();
    /// Once, right before MPI_Finalize. Collective over MPI_COMM_WORLD.
    void end();

    bool active() const noexcept { return active_; }
    std::optional<alltoall::Spec> const &forced() const noexcept { return forced_; }
    std::optional<alltoall::Table> const &table() const noexcept { return table_; }
    /// 0: never.
    std::int64_t verify_every() const noexcept { return verify_every_; }
    bool reporting() const noexcept { return !report_path_.empty(); }
    Report &report() noexcept { return report_; }

  private:
    void configure();
    void prewarm();

    std::atomic<bool> active_{false};
    bool begun_ = false;
    bool ended_ = false;
    std::optional<alltoall::Spec> forced_;
    std::optional<alltoall::Table> table_;
    std::string report_path_;
    std::int64_t verify_every_ = 0;
    bool prewarm_ = false;
    Report report_;
};

Session &session();

} // namespace weft::interpose
