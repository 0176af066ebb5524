# SPDX-License-Identifier: BSD-3-Clause
"""The section ``[simulation]`` of a fabric file: what a simulator has to be told beyond the machine itself."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from weft.units import Seconds

Count = Annotated[int, Field(strict=True, ge=0, le=10_000_000)]
Samples = Annotated[int, Field(strict=True, ge=1, le=1000)]
Library = Literal["mvapich2", "mpich", "ompi", "impi"]


class SimulationSection(BaseModel):
    """How a simulated MPI behaves on this machine.

    What a message costs stands in ``[network]``: message_cost for every message to another node, and
    rendezvous_latency on top of it for those above eager_limit; both keep the rank that sends busy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    collectives: Library = Field(
        "mpich", description='whose algorithms the collectives take: "mvapich2", "mpich", "ompi" or "impi"'
    )
    inside_cost: Seconds = Field(0.0, description='what a message to a rank of the same node costs its sender: "0 us"')
    connection_cost: Seconds = Field(
        0.0,
        description='what either end spends on a connection when two ranks on different nodes first meet: "2 ms"',
    )
    connected_up_to: Count = Field(
        64, description="jobs of at most this many ranks connect everybody at start-up, for nothing"
    )
    samples: Samples = Field(1, description="samples of each operation: a simulation gives the same time again")
    budget: Seconds = Field(
        600.0, description='a cell whose simulation is expected to take longer is refused: "10 min"'
    )
