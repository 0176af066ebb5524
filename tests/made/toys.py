# SPDX-License-Identifier: BSD-3-Clause
"""A kernel and a scheduler that nobody ships: only what CONTRIBUTING lists for a new one, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from made.batch import MadeUpScheduler
from weft.fabric import Fabric
from weft.kernel import FlatValue, Kernel, Shape, Sweep
from weft.kernel.budget import sample_bytes, staging
from weft.kernel.sizes import ByteSizes, op_name
from weft.kernel.traffic import Traffic, Uniform, barrier_messages
from weft.launch.launcher import LaunchRequest
from weft.study import Measure, Section, Series, Study


class ToySection(Section, frozen=True):
    """``[toy]``."""

    sizes: ByteSizes = Field((8, 1024), description="bytes of a message")


class ToyStudy(Study, frozen=True):
    """A study of the toy."""

    kernel: Literal["toy"] = Field(description="toy")
    toy: ToySection = Field(ToySection(), description="[toy]")  # pyright: ignore[reportCallIssue]


class Toy(Kernel):
    """Everybody sends a message to everybody."""

    name = "toy"
    study: type[Study] = ToyStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The sizes at each shape."""
        assert isinstance(study, ToyStudy)
        return Sweep(tuple((shape, {"bytes": list(study.toy.sizes)}) for shape in shapes), ("a toy is measured",))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """A message to each rank, samples, and MPI's own."""
        messages = ranks * values["bytes"][-1]
        return {"messages": messages, "samples": sample_bytes(len(values["bytes"]), measure), **staging(ranks)}

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """An all-to-all of each size."""
        return {op_name("hop", size): Uniform(size, 1, ranks - 1) for size in values["bytes"]}

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """The sizes, and what the fake kernel is to write."""
        return {"bytes": values["bytes"], "calls": " ".join(self.operations(values, 0))}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Everybody to everybody."""
        return len(values["bytes"]) * calls * (ranks * (ranks - 1) + barrier_messages(ranks))


class ToyScheduler(MadeUpScheduler):
    """Runs a script at once, whole; its ranks need no start of their own."""

    name = "toyq"

    def __init__(self) -> None:
        super().__init__(launches_a_job=100)

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """The command as it is."""
        return ["env"]
