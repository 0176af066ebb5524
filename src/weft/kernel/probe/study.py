# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``probe``; ``weft tune --probe`` writes one."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from weft.files.section import Section
from weft.study import Study
from weft.units import Bytes

Few = Annotated[int, Field(strict=True, ge=1, le=10_000)]


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
