// SPDX-License-Identifier: BSD-3-Clause
// What a measured all-to-all asks of native/alltoall. Only programs with the room `own` have it: a study whose cells
// name none of Weft's algorithms is measured without, and need not compile them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

namespace alltoall {
template <typename Count> struct AlltoallCall;
template <typename Count, typename Displacement> struct AlltoallvCall;
} // namespace alltoall

class OwnAllToAll {
  public:
    virtual ~OwnAllToAll() = default;
    /// Calls to make before those of a size are measured.
    virtual int calls_to_learn() const noexcept = 0;
    /// Makes a call, and counts it in `calls`; false if the library's own is to be called, by its public name. Throws
    /// MpiError.
    virtual bool perform(alltoall::AlltoallCall<int> const &call, std::int64_t &calls) const = 0;
    virtual bool perform(alltoall::AlltoallvCall<int, int> const &call, std::int64_t &calls) const = 0;
    virtual bool perform(alltoall::AlltoallCall<MPI_Count> const &call, std::int64_t &calls) const = 0;
    virtual bool perform(alltoall::AlltoallvCall<MPI_Count, MPI_Aint> const &call, std::int64_t &calls) const = 0;
    /// The algorithm that the last `perform` ran.
    static std::string &last_algorithm() noexcept;
};

/// By a spec ("node.multi{nl=4}"), or call by call by a selection table. Throw Failure.
std::shared_ptr<OwnAllToAll const> own_by_spec(std::string_view spec);
std::shared_ptr<OwnAllToAll const> own_by_table(std::string const &path);

} // namespace weft
