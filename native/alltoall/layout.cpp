// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"
#include "platform.hpp"
#include "side.hpp"

namespace weft::alltoall {

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
    made.begin = true_lower;
    made.dense =
        size == extent && lower == 0 && true_lower == 0 && true_extent == extent && platform::is_in_order(type);
    return made;
}

} // namespace weft::alltoall
