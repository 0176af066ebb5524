// SPDX-License-Identifier: BSD-3-Clause
// Included before settings.cpp: SMPI has no MPI_T, so there is a tool interface that does not come up. What a simulated
// library is set to stands in the command line of the launch, which the launcher records.
#pragma once

#include <mpi.h>

using MPI_T_enum = void *;
using MPI_T_cvar_handle = void *;
constexpr int MPI_T_BIND_NO_OBJECT = 0;

inline int MPI_T_init_thread(int, int *) {
    return MPI_ERR_OTHER;
}
inline int MPI_T_finalize() {
    return MPI_SUCCESS;
}
inline int MPI_T_cvar_get_num(int *) {
    return MPI_ERR_OTHER;
}
template <class... Arguments> int MPI_T_cvar_get_info(Arguments...) {
    return MPI_ERR_OTHER;
}
template <class... Arguments> int MPI_T_cvar_handle_alloc(Arguments...) {
    return MPI_ERR_OTHER;
}
inline int MPI_T_cvar_handle_free(MPI_T_cvar_handle *) {
    return MPI_SUCCESS;
}
inline int MPI_T_cvar_read(MPI_T_cvar_handle, void *) {
    return MPI_ERR_OTHER;
}
