// SPDX-License-Identifier: BSD-3-Clause
#include "weft_alltoall.h"

#include "call.hpp"
#include "error.hpp"

using namespace weft::alltoall;

namespace {

template <typename Call> int performed(char const *spec, Call const &call) noexcept {
    Spec parsed;
    try {
        parsed = parse_spec(spec);
    } catch (Error const &error) {
        return raise(call.comm, error.code(), error.what());
    }
    return perform(call, parsed).code;
}

} // namespace

extern "C" {

int weft_alltoall(char const *spec, void const *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    return performed(spec, AlltoallCall<MPI_Count>{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm});
}

int weft_alltoallv(char const *spec, void const *sendbuf, MPI_Count const sendcounts[], MPI_Aint const sdispls[],
                   MPI_Datatype sendtype, void *recvbuf, MPI_Count const recvcounts[], MPI_Aint const rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm) {
    return performed(spec, AlltoallvCall<MPI_Count, MPI_Aint>{sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                              recvcounts, rdispls, recvtype, comm});
}

char const *weft_alltoall_error(void) {
    return last_error().c_str();
}

int weft_alltoall_algorithm(int index, char const **name, char const **help) {
    if (index < 0 || index >= int(algorithms().size())) {
        return 1;
    }
    *name = algorithms()[std::size_t(index)].name;
    *help = algorithms()[std::size_t(index)].help;
    return 0;
}

char const *weft_alltoall_ran(void) {
    return algorithms()[std::size_t(last_ran())].name;
}
}
