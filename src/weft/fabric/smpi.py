# SPDX-License-Identifier: BSD-3-Clause
"""SMPI's algorithms of collective calls by their names in SimGrid 3.32 (``smpirun --cfg=smpi/CALL:NAME``)."""

from collections.abc import Mapping

ALGORITHMS: Mapping[str, frozenset[str]] = {
    call: frozenset(f"default mvapich2 mpich ompi impi {names}".split())
    for call, names in {
        "allgather": "2dmesh 3dmesh bruck GB loosely_lr NTSLR NTSLR_NB pair rdb rhv ring SMP_NTS smp_simple "
        "spreading_simple ompi_neighborexchange mvapich2_smp",
        "allgatherv": "GB pair ring ompi_neighborexchange ompi_bruck mpich_rdb mpich_ring",
        "allreduce": "lr rab rab1 rab2 rab_rdb rdb smp_binomial smp_binomial_pipeline smp_rdb smp_rsag smp_rsag_lr "
        "smp_rsag_rab redbcast ompi_ring_segmented mvapich2_rs mvapich2_two_level",
        "alltoall": "2dmesh 3dmesh basic_linear bruck pair pair_rma pair_light_barrier pair_mpi_barrier "
        "pair_one_barrier rdb ring ring_light_barrier ring_mpi_barrier ring_one_barrier mvapich2_scatter_dest",
        "alltoallv": "bruck pair pair_light_barrier pair_mpi_barrier pair_one_barrier ring ring_light_barrier "
        "ring_mpi_barrier ring_one_barrier ompi_basic_linear",
        "barrier": "ompi_basic_linear ompi_two_procs ompi_tree ompi_bruck ompi_recursivedoubling ompi_doublering "
        "mpich_smp mvapich2_pair",
        "bcast": "arrival_pattern_aware arrival_pattern_aware_wait arrival_scatter binomial_tree flattree "
        "flattree_pipeline NTSB NTSL NTSL_Isend scatter_LR_allgather scatter_rdb_allgather SMP_binary SMP_binomial "
        "SMP_linear ompi_split_bintree ompi_pipeline mvapich2_inter_node mvapich2_intra_node "
        "mvapich2_knomial_intra_node",
        "gather": "ompi_basic_linear ompi_binomial ompi_linear_sync mvapich2_two_level",
        "reduce": "arrival_pattern_aware binomial flat_tree NTSL rab scatter_gather ompi_chain ompi_pipeline "
        "ompi_basic_linear ompi_in_order_binary ompi_binary ompi_binomial mvapich2_knomial mvapich2_two_level",
        "reduce_scatter": "ompi_basic_recursivehalving ompi_ring ompi_butterfly mpich_pair mpich_rdb mpich_noncomm",
        "scatter": "ompi_basic_linear ompi_linear_nb ompi_binomial mvapich2_two_level_binomial "
        "mvapich2_two_level_direct",
    }.items()
}
"""Names by call, without ``automatic``, which tries all others at each call and so has no time of its own."""


def check_algorithms(asked: Mapping[str, str]) -> Mapping[str, str]:
    """Return ``asked`` (algorithm by call) if SMPI has every one of them.

    Raises ValueError: No such call, or no such algorithm of the call; the message lists what there is.
    """
    for call, name in asked.items():
        if call not in ALGORITHMS:
            raise ValueError(f'"{call}" is no call with a choice of algorithms: {", ".join(sorted(ALGORITHMS))}')
        if name not in ALGORITHMS[call]:
            known = ", ".join(sorted(ALGORITHMS[call], key=str.lower))
            raise ValueError(f'SMPI has no algorithm "{name}" of {call}; it has {known}')
    return asked
