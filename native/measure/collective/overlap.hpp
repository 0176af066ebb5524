// SPDX-License-Identifier: BSD-3-Clause
// How much of a non-blocking collective hides behind computation, measured in turns with the blocking call. Plan key of
// a cell: `overlap 1`. The operations are named after the call: "alltoall@1024:hidden".
//   alone        MPI_Ialltoall, MPI_Wait
//   compute      computation as long as `alone`
//   hidden       MPI_Ialltoall, that computation, MPI_Wait
//   tested       the same with MPI_Test between sixteenths of the computation
//   persistent   MPI_Start, MPI_Wait of MPI_Alltoall_init; MPI 4 alone
#pragma once

#include "cell/cell.hpp"
#include "collective/collective_data.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace weft {

class Overlap {
  public:
    /// Collective: finds out how fast this rank computes. `data` outlives it.
    Overlap(Cell const &cell, CollectiveForm const &form, CollectiveData &data);

    static bool any(Cell const &cell) { return cell.integer("overlap", 0) != 0; }
    static void add_need(Need &need, Cell const &cell, std::int64_t sizes);

    /// Collective: warm samples of `call`, whose data have this block size, and of all else in turns.
    void measure(Sampler &sampler, std::string const &op, std::int64_t bytes, std::function<void()> const &call,
                 How how);

  private:
    void begin(MPI_Request *request) const;
    [[nodiscard]] std::int64_t steps_of_call() const;

    CollectiveData &data_;
    Collective const &collective_;
    Team const &team_;
    double steps_per_s_;
};

} // namespace weft
