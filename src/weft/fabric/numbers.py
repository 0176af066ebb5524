# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a fabric file by key (``network.adapter_rate``): reading, replacing, and how well each is known.

A paper or a data sheet is taken at its word. A fitted number moves with the noise of its cells, and an assumed one
may be anything that machines of its kind have: :func:`doubtful` gives the range of each.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from weft.errors import FabricError
from weft.fabric.model import Fabric

Standing = Literal["stated", "fitted", "assumed"]
WORKED_OUT = "worked out"  # word in the source of a number that follows from a data sheet, and that nobody measured
_UNSEEN = re.compile(r"error on unseen cells (?:under )?([\d.]+) ?%")
#: Words in a source that say a number was not found anywhere.
GUESSED = ("assumed", "not stated", "made up", "chosen", "guess", "unknown", WORKED_OUT)
FITTED_BY = 1.1
"""Factor by which a fitted number may be off: 1 % of error in tara's fitted times moves a cost by 2 %, and two printed
digits are up to 4.5 % (`weft papers tables`)."""


@dataclass(frozen=True)
class Spread:
    """By how much an assumed number may be off."""

    key: str  # in the fabric file
    unit: Literal["B/s", "s", "B"]
    factor: float = 0.0  # it may lie between its value divided and multiplied by this ..
    low: float = 0.0  # .. or between these two, in its unit, whatever was assumed
    high: float = 0.0
    below: float = 0.0  # factor by which it may be lower, if it was worked out from a data sheet


LINKS = ("tree.link", "tree.pod_link", "torus.link", "dragonfly.local", "dragonfly.global")  # between switches
LINK_RATES = tuple(f"network.{link}_rate" for link in LINKS)
LINK_LATENCIES = tuple(f"network.{link}_latency" for link in LINKS)  # each comes to every message that crosses it
# Rates: what nodes and adapters reach lies up to 40 % below a data sheet (`weft papers datasheet`). Costs: a factor
# of two either way. Latencies: of one adapter, EDR, 1.05 us and 2.44 us were published (fabrics/presets/network.toml).
# Eager limits: defaults of libraries range from 4 KiB to 64 KiB. What a message costs its sender: LogGP's o of
# published adapters is up to 2 us. Latencies of switches: 100 ns to 350 ns were published (same file), and a fabric
# file that leaves them out says 0. docs/dev/simulation.md says why other numbers are not moved.
SPREADS = (
    Spread("node.copy_rate", "B/s", 1.4, below=5.0),
    Spread("node.core_copy_rate", "B/s", 2.0),
    Spread("network.adapter_rate", "B/s", 1.4),
    *(Spread(key, "B/s", 1.4) for key in LINK_RATES),
    Spread("node.latency", "s", 2.5),
    Spread("network.latency", "s", 2.5),
    *(Spread(key, "s", low=0.0, high=350e-9) for key in LINK_LATENCIES),
    Spread("network.overhead", "s", low=0.0, high=2e-6),
    Spread("network.eager_overhead", "s", low=0.0, high=2e-6),
    Spread("network.message_gap", "s", 2.0),
    Spread("network.rendezvous_stall", "s", 2.0),
    Spread("network.eager_limit", "B", low=4096, high=65536),
    Spread("simulation.inside_cost", "s", low=0.0, high=2e-6),
)


@dataclass(frozen=True)
class Doubtful:
    """A number that is not stated anywhere, or that machines of its kind have within a range."""

    key: str  # in the fabric file
    unit: str  # ``B/s``, ``s`` or ``B``
    standing: Standing
    value: float  # in the file
    low: float  # the plausible range
    high: float


def number_of(fabric: Fabric, key: str) -> float | None:
    """The value of a key; None if the file does not state it, or does not have its section."""
    value: Any = fabric
    for part in key.split("."):
        value = getattr(value, part) if value is not None else None
    return value


def with_number(fabric: Fabric, key: str, value: Any) -> Fabric:
    """The fabric with another value of a key. Raises FabricError: the fabric does not have the key's section."""
    section, _, name = key.rpartition(".")
    owner: Any = number_of(fabric, section) if section else fabric
    if owner is None:
        raise FabricError(f"{fabric.path} has no section [{section}] for {key}", f"write one: [{section}]")
    changed = owner.model_copy(update={name: value})
    return with_number(fabric, section, changed) if section else changed


def source_of(fabric: Fabric, key: str) -> str:
    """The text of a number's source, or of its section's, in small letters; empty without any."""
    parts = key.split(".")
    keys = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((fabric.sources[each] for each in keys if each in fabric.sources), "").casefold()


def standing(fabric: Fabric, key: str) -> Standing:
    """How well a number is known, by the text of its source, or of its section's: without any it is assumed."""
    source = source_of(fabric, key)
    if not source or any(word in source for word in GUESSED):
        return "fitted" if source.startswith("fitted") else "assumed"
    return "fitted" if "fitted" in source else "stated"


def doubtful(fabric: Fabric, spreads: Iterable[Spread] = SPREADS) -> list[Doubtful]:
    """The numbers of a fabric that are fitted or assumed, or stated with a range, with their plausible ranges."""
    found: list[Doubtful] = []
    for spread in spreads:
        value, known = number_of(fabric, spread.key), standing(fabric, spread.key)
        ranged = spread.key in fabric.ranges and known != "fitted"
        if value is None or (known == "stated" and not ranged):
            continue
        factor = FITTED_BY if known == "fitted" else spread.factor
        low, high = (value / factor, value * factor) if factor else (spread.low, spread.high)
        if ranged:
            low, high = fabric.range_of(spread.key)
        elif spread.below and WORKED_OUT in source_of(fabric, spread.key):
            low = value / spread.below
        found.append(Doubtful(spread.key, spread.unit, known, value, min(low, value), max(high, value)))
    return found


def fitted_numbers(fabric: Fabric) -> list[str]:
    """Keys of the numbers that were fitted to measurements of this machine."""
    return [each.key for each in doubtful(fabric) if each.standing == "fitted"]


def leave_out_error(fabric: Fabric) -> float | None:
    """The largest relative error on cells left out of a fit, as its sources state it; None where none does."""
    stated = (_UNSEEN.search(text.casefold()) for text in fabric.sources.values())
    return max((float(found[1]) / 100 for found in stated if found), default=None)
