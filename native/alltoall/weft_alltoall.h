/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoall and MPI_Alltoallv with an algorithm of the caller's choice. C, C++; needs only MPI. Link libweft.so
 * (which also replaces MPI's own calls, controlled by WEFT_ALLTOALL and WEFT_TABLE), or the static library
 * weft_alltoall.
 *
 * A spec names an algorithm and its parameters: "pmpi", "flat.window{w=8,order=shift,bytes_in_flight=4MiB}",
 * "flat.pairwise", "bruck{r=4}", "node.multi{nl=4}", "node.direct{w=64}", "node.bruck{r=2}", "sched{file=PATH}", "sched.matrix{w=8}".
 * Omitted parameters have their defaults. All ranks of a communicator must give the same spec.
 *
 * The arguments are those of MPI_Alltoall_c and MPI_Alltoallv_c (MPI 4), with any MPI: MPI_IN_PLACE, derived datatypes
 * and intercommunicators included. An error is raised through the error handler of the caller's communicator, and
 * returned.
 *
 * Read once per communicator, from rank 0's environment:
 *   WEFT_STAGING_BYTES       shared memory per node and communicator for staging (default 64 MiB)
 *   WEFT_REQUESTS_PER_NODE   most messages in flight from a node's ranks (default 1024)
 *   WEFT_NODES_FAKE          treat the ranks as if they were on these nodes (for tests): see nodes.hpp
 */
#ifndef WEFT_ALLTOALL_H
#define WEFT_ALLTOALL_H

#include <mpi.h>

#if defined(__GNUC__)
#define WEFT_PUBLIC __attribute__((visibility("default")))
#else
#define WEFT_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

WEFT_PUBLIC int weft_alltoall(const char *spec, const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm);

/* Displacements are in units of the datatype's extent, as in MPI_Alltoallv. */
WEFT_PUBLIC int weft_alltoallv(const char *spec, const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                   MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm);

/* Text of the last failed call on this thread, with the next thing to try; "" if there was none. */
WEFT_PUBLIC const char *weft_alltoall_error(void);

/* Name and one line of help of algorithm `index`; returns 0, or 1 if there is no such index. */
WEFT_PUBLIC int weft_alltoall_algorithm(int index, const char **name, const char **help);

/* The algorithm that the last weft_alltoall or weft_alltoallv on this thread ran: "pmpi" after a fallback. */
WEFT_PUBLIC const char *weft_alltoall_ran(void);

#ifdef __cplusplus
}
#endif
#endif
