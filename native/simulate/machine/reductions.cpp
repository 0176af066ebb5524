// SPDX-License-Identifier: BSD-3-Clause
// Open MPI's reductions. SMPI 3.32 has the table by which Open MPI 4.1 chooses, but cuts the message as older ones did,
// into pieces of 1 to 64 KiB: a reduction of 64 KiB on 64 ranks sent 64 messages up each branch. Open MPI 4.1 chooses
// no size of pieces, so the message goes whole; and no fan-out, so that its "chain" is a single one, as its "pipeline"
// is.
#include "smpi_names.hpp"

struct ompi_coll_tree_t;

namespace simgrid::smpi {
namespace {

using Reduce = int(void const *, void *, int, Datatype *, Op *, int, Comm *);
using AlongTree = int(void const *, void *, int, Datatype *, Op *, int, Comm *, ompi_coll_tree_t *, int, int);

} // namespace

Reduce reduce__ompi_pipeline;

// All of them but the linear one send along a tree by this function.
int smpi_coll_tuned_ompi_reduce_generic(void const *from, void *into, int count, Datatype *type, Op *op, int root,
                                        Comm *comm, ompi_coll_tree_t *tree, int count_of_piece, int most_under_way) {
    static auto *const own = weft::simulate::of_simgrid<AlongTree>(
        "_ZN7simgrid4smpi35smpi_coll_tuned_ompi_reduce_genericEPKvPviPNS0_8DatatypeEPNS0_2OpEiPNS0_4CommE"
        "P16ompi_coll_tree_tii");
    auto const piece = weft::simulate::chosen_by_open_mpi("smpi/reduce") && count > 0 ? count : count_of_piece;
    return own(from, into, count, type, op, root, comm, tree, piece, most_under_way);
}

int reduce__ompi_chain(void const *from, void *into, int count, Datatype *type, Op *op, int root, Comm *comm) {
    static auto *const own = weft::simulate::of_simgrid<Reduce>(
        "_ZN7simgrid4smpi18reduce__ompi_chainEPKvPviPNS0_8DatatypeEPNS0_2OpEiPNS0_4CommE");
    auto *const taken = weft::simulate::chosen_by_open_mpi("smpi/reduce") ? reduce__ompi_pipeline : own;
    return taken(from, into, count, type, op, root, comm);
}

} // namespace simgrid::smpi
