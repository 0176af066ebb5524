# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``replay``: a trace's script on as many ranks as the application had."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.section import FilePath, Section
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep
from weft.kernel.budget import sample_bytes, staging
from weft.kernel.traffic import barrier_messages
from weft.mpi.algorithms import DEFAULT, MOCK_UPS
from weft.mpi.alltoall import AlgorithmSpec, chosen, with_own
from weft.store.trace.script import read_sizes, sent_in
from weft.study import Measure, Series, Study

OP = "replay"
EVENTS = 4
"""A script's own message is sent, received, waited for and copied, and follows a computation. What a kernel sends is
folded and follows nothing: a ring of 64 KiB on 64 ranks took ten times as long a message (bench/cost_estimates.py)."""


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


class Replay(Kernel):
    """Cells, memory and messages of a replay."""

    name = "replay"
    runs_ahead = True
    main = OP
    batched = False
    keys = ("algorithm",)
    inputs = ("script",)
    called = frozenset({"barrier", *MOCK_UPS})  # all that an application may call
    study: type[Study] = ReplayStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The script at each shape with its number of ranks; StudyError if none has it, DataError for a bad script."""
        assert isinstance(study, ReplayStudy)
        path = study.path.parent / study.replay.script
        sizes = read_sizes(path)
        fitting = [shape for shape in shapes if shape.ranks == sizes.ranks]
        if not fitting:
            remedy = "give nodes and ranks_per_node whose product is that number: weft replay TRACE --on FABRIC does"
            raise StudyError(f"{study.path}: the script is of {sizes.ranks} ranks, and no cell has as many", remedy)
        known = {name: value for name, value in asdict(sizes).items() if name != "ranks"}
        values = {"script": str(path.resolve()), "compute": round(study.replay.compute, 3), **known}
        values |= {"direct_calls": list(sizes.direct_calls)} | chosen(study.replay.algorithm)
        if study.replay.confidence != "A":
            values |= {"inherited": [study.replay.confidence, study.replay.because]}
        return Sweep(tuple((shape, values) for shape in fitting))

    def program(self, study: Study) -> str:
        assert isinstance(study, ReplayStudy)
        return with_own(self.name, study.replay.algorithm)

    def sent(self, study: Study) -> npt.NDArray[np.float64] | None:
        assert isinstance(study, ReplayStudy)
        found = sent_in(study.path.parent / study.replay.script)
        return found if found is not None and found.any() else None

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        return {
            "messages sent": values["send_bytes"],
            "messages received": values["receive_bytes"],
            "script": values["script_bytes"],
            "samples": sample_bytes(1, measure),
            **staging(ranks),
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        return Sizes(block=values["most_bytes"], local=values["send_bytes"])

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        return [OP]

    def calls_s(self, values: Mapping[str, Any], seconds: float) -> float:
        return max(0.0, seconds - values["computed_ns"] / 1e9 * values["compute"])

    def words(self, values: Mapping[str, Any]) -> str:
        speed = f"compute x{values['compute']:g}" if values["compute"] != 1 else ""
        return " ".join(filter(None, (speed, values.get("algorithm", "")))) or "as traced"

    def unbounded_s(self, values: Mapping[str, Any], ranks_per_node: int, copy_rate: float | None) -> list[float]:
        computed = values["computed_ns"]
        return [(values["traced_ns"] - computed + computed * values["compute"]) / 1e9]

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        script: dict[str, FlatValue] = {"script": values["script"]}
        return script | {"compute_permille": round(1000 * values["compute"])} | super().flat(values)

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Those of the script, in each call; all but those of all-to-alls at the cost of `EVENTS` plain ones each."""
        direct = values.get("direct", 0)  # a plan of an older version has none
        return calls * (EVENTS * (values["messages"] - direct) + direct + barrier_messages(ranks))

    def direct(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Its all-to-alls, each with the script's largest block and, as the parts are not known, all their messages."""
        return {call: [(values["most_bytes"], values["direct"])] for call in values.get("direct_calls", ())}

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        """Its largest message stands for all."""
        return values["most_bytes"]
