# SPDX-License-Identifier: BSD-3-Clause
"""Times of a fabric file that no interconnect exceeds: a wrong unit ends here, in whatever reads the file."""

from typing import Annotated, Any

from weft.format import format_seconds
from weft.units import parse_seconds, quoted


def below(most_s: float, why: str) -> tuple[Any, ...]:
    """Metadata of a pydantic type for times up to ``most_s`` seconds, written with their unit as all times are."""

    def read(text: object) -> float:
        seconds = parse_seconds(text)
        if seconds > most_s:
            raise ValueError(f"{format_seconds(seconds)} is not plausible (at most {format_seconds(most_s)}): {why}")
        return seconds

    return quoted(read, "s", "1.2 us")


Latency = Annotated[float, *below(10e-3, "Gigabit Ethernet takes 20 to 300 us, InfiniBand about 1 us")]
"""One-way, of an adapter, a link or a node's memory."""
Cost = Annotated[float, *below(100e-3, "a message costs its sender 0.1 to some hundred us")]
"""What one message costs besides its bytes: LogGP's o and g, and stalls."""
FirstContact = Annotated[float, *below(1.0, "two ranks connect in some us to some ten ms")]
"""What either end spends when two ranks first meet."""
