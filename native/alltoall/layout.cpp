// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"
#include "side.hpp"

#include <algorithm>

namespace weft::alltoall {

namespace {

bool is_in_order(MPI_Datatype type);

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

/// Whether the order of the data in memory is that of the type signature. A struct of two integers at 4 and 0 has no
/// gap, yet its bytes must not be copied as they are: so only types that cannot be out of order pass.
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

} // namespace

Layout Layout::of(MPI_Datatype type, bool used) {
    Layout made;
    made.type = type;
    if (type == MPI_DATATYPE_NULL) {
        if (used) {
            throw Error(MPI_ERR_TYPE, "weft: MPI_DATATYPE_NULL with a count that is not zero -> give the datatype");
        }
        return made;
    }
    MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    check(PMPI_Type_size_x(type, &size), "MPI_Type_size_x");
    check(PMPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
    check(PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent), "MPI_Type_get_true_extent_x");
    made.size = size;
    made.extent = extent;
    made.dense = size == extent && lower == 0 && true_lower == 0 && true_extent == extent && is_in_order(type);
    return made;
}

} // namespace weft::alltoall
