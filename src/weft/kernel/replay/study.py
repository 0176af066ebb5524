# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``replay``; ``weft replay`` writes one."""

from typing import Annotated, Literal

from pydantic import Field

from weft.files.section import FilePath, Section
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AlgorithmSpec
from weft.study import Study


class ReplaySection(Section, frozen=True):
    """``[replay]``: which script, and how fast its ranks compute."""

    script: Annotated[FilePath, Field(min_length=1, max_length=4096)] = Field(
        description="the script of a trace, as weft replay makes it; a relative path is from the study's folder"
    )
    compute: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = Field(
        1.0, description="time between calls, as a multiple of the traced one: 0.5 for processors of twice the speed"
    )
    algorithm: AlgorithmSpec = Field(
        DEFAULT,
        description="of MPI_Alltoall and MPI_Alltoallv: \"default\" (the library's own), or one of Weft's, such as "
        '"node.multi{nl=4}"',
    )
    confidence: Literal["A", "B", "C", "D"] = Field(
        "A", description="that of the trace, which the replay cannot exceed"
    )
    because: str = Field("", max_length=400, description="what the trace's confidence is lowered by")


class ReplayStudy(Study, frozen=True):
    """A study of the kernel ``replay``."""

    kernel: Literal["replay"] = Field(description="replay")
    replay: ReplaySection = Field(description="[replay]")
