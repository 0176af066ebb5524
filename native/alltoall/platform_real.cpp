// SPDX-License-Identifier: BSD-3-Clause
#include "platform.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::alltoall::platform {

namespace {

/// Whether the type that `type` repeats contiguously is in order; frees the handles that MPI returns.
bool content_in_order(MPI_Datatype type, int integers, int addresses, int types) {
    std::vector<int> ints(std::size_t(std::max(integers, 1)));
    std::vector<MPI_Aint> aints(std::size_t(std::max(addresses, 1)));
    std::vector<MPI_Datatype> inner(std::size_t(std::max(types, 1)), MPI_DATATYPE_NULL);
    check(PMPI_Type_get_contents(type, integers, addresses, types, ints.data(), aints.data(), inner.data()),
          "MPI_Type_get_contents");
    bool const good = is_in_order(inner[0]);
    for (int i = 0; i < types; ++i) {
        int a = 0, b = 0, c = 0, combiner = MPI_COMBINER_NAMED;
        PMPI_Type_get_envelope(inner[std::size_t(i)], &a, &b, &c, &combiner);
        if (combiner != MPI_COMBINER_NAMED) {
            PMPI_Type_free(&inner[std::size_t(i)]);
        }
    }
    return good;
}

} // namespace

// Only types that cannot be out of order pass.
bool is_in_order(MPI_Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    check(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), "MPI_Type_get_envelope");
    switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
        return true;
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
        return content_in_order(type, integers, addresses, types);
    default:
        return false;
    }
}

bool is_usable(MPI_Datatype type) {
    static Comm const own = Comm::split(MPI_COMM_SELF, 0, 0); // returns its errors
    thread_local MPI_Datatype named = MPI_DATATYPE_NULL;      // a predefined type, which is never freed
    if (type == MPI_DATATYPE_NULL || type == named) {
        return type != MPI_DATATYPE_NULL;
    }
    int size = 0;
#ifdef OPEN_MPI // asks in MPI_Pack, of nothing too, but not in MPI_Pack_size; MPICH the other way round
    char nothing = 0;
    int const code = PMPI_Pack(&nothing, 0, type, &nothing, 1, &size, own.get());
#else
    int const code = PMPI_Pack_size(1, type, own.get(), &size);
#endif
    if (code != MPI_SUCCESS) {
        return false;
    }
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
        combiner == MPI_COMBINER_NAMED) {
        named = type;
    }
    return true;
}

bool refuses_aliases() {
    static bool const refuses = [] {
        Comm const own = Comm::split(MPI_COMM_SELF, 0, 0); // returns its errors
        char byte = 0;
        int none = 0; // with data, a library that checks nothing aborts at a copy of a byte to itself
        return PMPI_Alltoallv(&byte, &none, &none, MPI_CHAR, &byte, &none, &none, MPI_CHAR, own.get()) != MPI_SUCCESS;
    }();
    return refuses;
}

Comm sharing_memory(MPI_Comm comm, int rank) {
    MPI_Comm shared = MPI_COMM_NULL;
    check(PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared), "MPI_Comm_split_type");
    return Comm(shared);
}

int wait_some(std::span<MPI_Request> requests, int &count, int *ended, MPI_Status *statuses) {
    return PMPI_Waitsome(int(requests.size()), requests.data(), &count, ended, statuses);
}

std::int64_t received_bytes(MPI_Status &status) {
    MPI_Count bytes = 0;
    check(PMPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
    return bytes;
}

void copy(std::byte *to, std::byte const *from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

} // namespace weft::alltoall::platform
