// SPDX-License-Identifier: BSD-3-Clause
// The MPI functions of C that libweft.so replaces. MPI_Comm_free is not needed: the state of a communicator is an
// attribute of it.
#include "intercept.hpp"
#include "session.hpp"

using namespace weft;
using alltoall::AlltoallCall;
using alltoall::AlltoallvCall;
using interpose::intercept;
using interpose::session;

#pragma GCC visibility push(default)
extern "C" {

int MPI_Init(int *argc, char ***argv) {
    int const code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) {
        session().begin();
    }
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int const code = PMPI_Init_thread(argc, argv, required, provided);
    if (code == MPI_SUCCESS) {
        session().begin();
    }
    return code;
}

int MPI_Finalize(void) {
    session().end();
    return PMPI_Finalize();
}

int MPI_Alltoall(void const *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
    return intercept(AlltoallCall<int>{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm},
                     "MPI_Alltoall");
}

int MPI_Alltoallv(void const *sendbuf, int const sendcounts[], int const sdispls[], MPI_Datatype sendtype,
                  void *recvbuf, int const recvcounts[], int const rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
    return intercept(
        AlltoallvCall<int, int>{sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm},
        "MPI_Alltoallv");
}

// Passed on unchanged, and counted.
#define WEFT_PASS(name, parameters, arguments)                                                                         \
    int M##name parameters {                                                                                           \
        session().report().pass("M" #name);                                                                            \
        return PM##name arguments;                                                                                     \
    }

WEFT_PASS(PI_Ialltoall,
          (void const *sb, int sc, MPI_Datatype st, void *rb, int rc, MPI_Datatype rt, MPI_Comm c, MPI_Request *r),
          (sb, sc, st, rb, rc, rt, c, r))
WEFT_PASS(PI_Ialltoallv,
          (void const *sb, int const sc[], int const sd[], MPI_Datatype st, void *rb, int const rc[], int const rd[],
           MPI_Datatype rt, MPI_Comm c, MPI_Request *r),
          (sb, sc, sd, st, rb, rc, rd, rt, c, r))

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
WEFT_PASS(PI_Alltoall_init,
          (void const *sb, int sc, MPI_Datatype st, void *rb, int rc, MPI_Datatype rt, MPI_Comm c, MPI_Info i,
           MPI_Request *r),
          (sb, sc, st, rb, rc, rt, c, i, r))
WEFT_PASS(PI_Alltoallv_init,
          (void const *sb, int const sc[], int const sd[], MPI_Datatype st, void *rb, int const rc[], int const rd[],
           MPI_Datatype rt, MPI_Comm c, MPI_Info i, MPI_Request *r),
          (sb, sc, sd, st, rb, rc, rd, rt, c, i, r))
#endif

#if MPI_VERSION >= 4
int MPI_Alltoall_c(void const *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm) {
    return intercept(AlltoallCall<MPI_Count>{sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm},
                     "MPI_Alltoall_c");
}

int MPI_Alltoallv_c(void const *sendbuf, MPI_Count const sendcounts[], MPI_Aint const sdispls[], MPI_Datatype sendtype,
                    void *recvbuf, MPI_Count const recvcounts[], MPI_Aint const rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm) {
    return intercept(AlltoallvCall<MPI_Count, MPI_Aint>{sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                                        rdispls, recvtype, comm},
                     "MPI_Alltoallv_c");
}

WEFT_PASS(PI_Ialltoall_c,
          (void const *sb, MPI_Count sc, MPI_Datatype st, void *rb, MPI_Count rc, MPI_Datatype rt, MPI_Comm c,
           MPI_Request *r),
          (sb, sc, st, rb, rc, rt, c, r))
WEFT_PASS(PI_Ialltoallv_c,
          (void const *sb, MPI_Count const sc[], MPI_Aint const sd[], MPI_Datatype st, void *rb, MPI_Count const rc[],
           MPI_Aint const rd[], MPI_Datatype rt, MPI_Comm c, MPI_Request *r),
          (sb, sc, sd, st, rb, rc, rd, rt, c, r))
#endif

#undef WEFT_PASS
}
#pragma GCC visibility pop
