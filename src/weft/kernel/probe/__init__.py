# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``probe``: short and long messages, one at a time and back to back, between the ranks of two nodes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.section import Section
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep
from weft.kernel.budget import sample_bytes, staging
from weft.kernel.sizes import op_name
from weft.kernel.traffic import barrier_messages
from weft.study import Measure, Series, Study
from weft.units import Bytes

Few = Annotated[int, Field(strict=True, ge=1, le=10_000)]
SLOPES = {"more": 4, "longer": 2}  # times as many short messages, or bytes of a long one, at the other end of a slope
MESSAGES = ("small", "large", "messages", "trains")
KEYS = (*MESSAGES, *SLOPES)


class ProbeSection(Section, frozen=True):
    """``[probe]``: how long its messages are, and how many follow each other."""

    small: Bytes = Field(8, description='a short message: "8 B"')
    large: Bytes = Field(
        2**20, description='a long message, sent above every eager limit: "1 MiB"; also one twice as long'
    )
    messages: Few = Field(64, description="short messages back to back; also four times as many")
    trains: Few = Field(4, description="long messages back to back")

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse lengths between which no slope can be found."""
        if not 1 <= self.small < self.large <= 2**28:
            raise ValueError("small is at least 1 B and shorter than large, which is at most 256 MiB")
        return self


class ProbeStudy(Study, frozen=True):
    """A study of the kernel ``probe``."""

    kernel: Literal["probe"] = Field(description="probe")
    probe: ProbeSection = Field(ProbeSection(), description="[probe]")  # pyright: ignore[reportCallIssue]


class Probe(Kernel):
    """Cells, memory and messages of a probe."""

    name = "probe"
    called = frozenset({"alltoall"})  # that of one rank, which is a copy
    study: type[Study] = ProbeStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """The same messages at each shape of two ranks or more. Raises StudyError: No shape has two ranks."""
        assert isinstance(study, ProbeStudy)
        values: dict[str, Any] = {key: getattr(study.probe, key) for key in MESSAGES} | SLOPES
        fitting = [shape for shape in shapes if shape.ranks > 1]
        if not fitting:
            raise StudyError(f"{study.path}: a probe needs two ranks", "give nodes or ranks_per_node of 2 or more")
        return Sweep(tuple((shape, values) for shape in fitting))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        longest = values["longer"] * values["large"]
        received = max(longest * values["trains"], values["more"] * values["messages"] * values["small"])
        samples = sample_bytes(len(self.operations(values, ranks)), measure)
        return {"sent": longest, "received": received, "samples": samples, **staging(ranks)}

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        return Sizes(block=values["longer"] * values["large"])

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        return list(operations(values))

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        return {key: values[key] for key in KEYS}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        trains = (1 + values["more"]) * values["messages"] * (1 + ranks // 2) + 2 * values["trains"] * ranks
        return calls * (trains + len(operations(values)) * barrier_messages(ranks))

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        return values["small"]


def operations(values: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Names of the operations, each with its number of messages (of a sender) and their bytes."""
    small, large, few, trains, more, longer = (int(values[key]) for key in KEYS)
    found = {op_name("trip", small): (1, small)}
    for count in (few, more * few):
        found |= {op_name(f"{who}-{count}", small): (count, small) for who in ("one", "all")}
    for size in (large, longer * large):
        found |= {op_name(f"all-{trains}", size): (trains, size), op_name("copy", size): (1, size)}
    return found
