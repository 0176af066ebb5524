# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``interference``."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.files.section import Section
from weft.study import Study
from weft.units import Bytes

Victim = Literal["pingpong", "allreduce", "alltoall", "exchange", "stream"]
Aggressor = Literal["alltoall", "incast", "shift", "bcast", "stream"]
Place = Literal["same-leaf", "other-leaf", "alternating", "random"]
#: Victims of which the bytes decide, not the latency of a message: a fluid model knows no other slow-down.
MOVING = frozenset({"alltoall", "exchange", "stream"})
#: Those of them whose messages begin all at once, so that it is known what each of them shares with others.
AT_ONCE = frozenset({"exchange", "stream"})
Few = Annotated[int, Field(strict=True, ge=1, le=1000)]
Percent = Annotated[int, Field(strict=True, ge=1, le=100)]


class InterferenceSection(Section, frozen=True):
    """``[interference]``: what is measured, beside what, and on which nodes."""

    victims: Annotated[tuple[Victim, ...], Field(min_length=1, max_length=5)] = Field(
        ("allreduce", "stream"), description="calls to measure: pingpong, allreduce, alltoall, exchange, stream"
    )
    aggressors: Annotated[tuple[Aggressor, ...], Field(min_length=1, max_length=5)] = Field(
        ("alltoall", "incast"), description="traffic beside them: alltoall, incast, shift, bcast, stream"
    )
    places: Annotated[tuple[Place, ...], Field(min_length=1, max_length=4)] = Field(
        ("other-leaf", "alternating"),
        description="nodes of the two jobs: same-leaf, other-leaf, alternating, random (by the seed)",
    )
    share: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = Field(
        0.5, description="share of the nodes that measure: 0.5; the others make the traffic"
    )
    small: Bytes = Field(8, description='bytes of a message of pingpong and allreduce: "8 B"')
    large: Bytes = Field(
        65536, description='bytes of a block of alltoall and exchange, of a message of stream: "64 KiB"'
    )
    window: Few = Field(16, description="messages of a stream in flight")
    traffic: Bytes = Field(65536, description='bytes of a message of the traffic beside them: "64 KiB"')
    burst: Few = Field(4, description="messages to each peer in a burst of that traffic")
    rates: Annotated[tuple[Percent, ...], Field(min_length=1, max_length=8)] = Field(
        (100,), description="strengths of the traffic: percent of the time with a burst under way: [25, 50, 100]"
    )
    chunk: Few = Field(10, description="samples in a row, alone or beside one kind of traffic")

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse repeated names, and an allreduce of parts of doubles."""
        for key in ("victims", "aggressors", "places", "rates"):
            listed = getattr(self, key)
            if len(set(listed)) != len(listed):
                raise ValueError(f"{key} lists one value twice")
        if "allreduce" in self.victims and self.small % 8:
            raise ValueError("small must be whole doubles (8 B, 16 B ...): allreduce adds them up")
        if not (1 <= self.large <= 2**30 and 1 <= self.traffic <= 2**30 and 1 <= self.small <= 2**30):
            raise ValueError("small, large and traffic are 1 B to 1 GiB")
        return self

    def reduced(self, share: float) -> Self:
        """With about a share of its calls: the longest list loses its middle one by one, rates the weakest first."""
        lists = {key: list[Any](getattr(self, key)) for key in ("rates", "aggressors", "victims", "places")}

        def calls() -> int:
            return len(lists["places"]) * len(lists["victims"]) * (1 + len(lists["aggressors"]) * len(lists["rates"]))

        most = max(share * calls(), 2)
        while calls() > most:
            key = "rates" if len(lists["rates"]) > 1 else max(lists, key=lambda each: len(lists[each]))
            left = sorted(lists[key]) if key == "rates" else lists[key]
            left.pop(0 if key in ("rates", "places") else len(left) // 2)
            lists[key] = left
        return self.model_copy(update={key: tuple(left) for key, left in lists.items()})


class InterferenceStudy(Study, frozen=True):
    """A study of the kernel ``interference``."""

    kernel: Literal["interference"] = Field(description="interference")
    interference: InterferenceSection = Field(
        InterferenceSection(),  # pyright: ignore[reportCallIssue]
        description="[interference]",
    )
