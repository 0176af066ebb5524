# SPDX-License-Identifier: BSD-3-Clause
"""The section ``[simulation]`` of a fabric file: what a simulator needs to know beyond the machine itself."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from weft.fabric.network.sections import Cost, FirstContact
from weft.files.section import Section
from weft.units import Bytes, Seconds

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
    """Return ``asked`` (algorithm by call) if SMPI has all of them; else ValueError with what there is."""
    for call, name in asked.items():
        if call not in ALGORITHMS:
            raise ValueError(f'"{call}" is no call with a choice of algorithms: {", ".join(sorted(ALGORITHMS))}')
        if name not in ALGORITHMS[call]:
            known = ", ".join(sorted(ALGORITHMS[call], key=str.lower))
            raise ValueError(f'SMPI has no algorithm "{name}" of {call}; it has {known}')
    return asked


Count = Annotated[int, Field(strict=True, ge=0, le=10_000_000)]
Samples = Annotated[int, Field(strict=True, ge=1, le=1000)]
Call = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
Algorithm = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,80}$")]
STAGING = "library staging"  # its name in a kernel's ``need``
Library = Literal["mvapich2", "mpich", "cray", "ompi", "impi"]
CRAY_STEPS = 24  # of a large all-to-all under way: MPICH_ALLTOALL_SYNC_FREQ of HPE Cray MPICH is 1 to 24
# Bytes by whose time on each of its links a flow's share falls, beside its latency: 8775 is SimGrid's fit to TCP. A
# single byte is next to nothing; none at all would stop flows on a fabric without a latency.
PATH_BYTES = {"by-path": 8775, "equal": 1}


class SimulationSection(Section, frozen=True):
    """How a simulated MPI behaves on this machine.

    What a message costs stands in ``[network]``: overhead for every message to another node, and rendezvous_stall on
    top of it for those above eager_limit; both keep the rank that sends busy.
    """

    collectives: Library = Field(
        "mpich",
        description='whose algorithms the collectives take: "mvapich2", "mpich", "cray" (HPE), "ompi" or "impi"',
    )
    algorithms: Annotated[dict[Call, Algorithm], AfterValidator(check_algorithms)] = Field(
        {},
        description="algorithms of single calls in place of those that the library's selector takes, by SimGrid's "
        'names (smpirun --help-coll): { alltoallv = "ring" }',
    )
    model: Literal["fair", "infiniband"] = Field(
        "fair",
        description='"fair": flows share what links carry; "infiniband": SimGrid\'s own model on top, with its '
        "penalties for several flows through one adapter, for a nominal adapter_rate from a data sheet",
    )
    sharing: Literal["by-path", "equal"] = Field(
        "by-path",
        description='how flows share a link: "by-path", SimGrid\'s own, a flow over more and slower links gets less of '
        'each, as with TCP on Ethernet; "equal", flows of the same latency get the same (max-min)',
    )
    gap: Literal["starts", "bytes"] = Field(
        "starts",
        description='what network.message_gap is counted from: "starts", the start of the message before (bytes and '
        'gap overlap), or "bytes", its last byte (LogGP: G a byte, then g)',
    )
    inside_cost: Cost = Field(0.0, description='what a message to a rank of the same node costs its sender: "0 us"')
    library_copies: bool = Field(
        False,
        description="whether the copies that the library's own algorithms make in a rank (Bruck's) take the node's "
        "memory, as those of Weft's all-to-alls always do",
    )
    connection_cost: FirstContact = Field(
        0.0, description='what either end spends on a connection when two ranks on different nodes first meet: "2 ms"'
    )
    connected_up_to: Count = Field(
        64, description="jobs of at most this many ranks connect everybody at start-up, for nothing"
    )
    start_up: Literal["nothing", "barrier"] = Field(
        "nothing",
        description='what is connected before the first call of a program: "nothing", or "barrier": each rank with the '
        "log2 p that a barrier joins it to",
    )
    peer_buffers: Bytes | None = Field(
        None,
        description='what the library of a rank keeps for each rank of the job: "2765 KiB"; Weft\'s estimate for an '
        "unknown library by default",
    )
    engine: Literal["auto", "ranks", "rounds"] = Field(
        "auto",
        description='what computes the times: "ranks", SimGrid with an actor for each rank; "rounds", the same costs '
        'for all-to-alls, without actors; "auto", rounds where ranks take longer than the budget',
    )
    samples: Samples = Field(1, description="samples of each operation: a simulation gives the same time again")
    budget: Seconds = Field(
        600.0, description='a cell whose simulation is expected to take longer is refused: "10 min"'
    )

    @model_validator(mode="after")
    def connections_need_ranks_apart(self) -> Self:
        """Refuse a combination: SimGrid's InfiniBand model counts flows by host, which all ranks of a node share."""
        if self.model == "infiniband" and self.connection_cost:
            raise ValueError('model = "infiniband" cannot distinguish the ranks of a node: leave out connection_cost')
        return self

    @property
    def selector(self) -> str:
        """The selector of SMPI that chooses algorithms: Cray MPICH is MPICH but for its large all-to-alls."""
        return "mpich" if self.collectives == "cray" else self.collectives

    def staged(self, terms: Mapping[str, int], ranks: int) -> dict[str, int]:
        """Bytes of each part of a rank's memory (a kernel's ``need``), with this library's buffers if stated."""
        return {**terms} if self.peer_buffers is None else {**terms, STAGING: ranks * self.peer_buffers}
