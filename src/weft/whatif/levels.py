# SPDX-License-Identifier: BSD-3-Clause
"""Where a number comes from, and how far it is known to be off: what docs/dev/papers-measured.md measured, in words."""

from dataclasses import dataclass

from weft.fabric.model import Fabric
from weft.fabric.presets import SHEET_ERRORS


@dataclass(frozen=True)
class Level:
    """How a number was produced.

    Attributes
    ----------
    name
        ``simulated``, ``static loads`` or ``closed form``.
    error
        What is known of its error, in words.
    at_least
        Whether the true time may be any longer one.
    """

    name: str
    error: str
    at_least: bool


TRACED = Level("measured", "none: it is the traced run itself", False)
"""The time where the application was traced."""
COMPUTATION = Level("closed form", "a lower bound: the busiest rank's computation as traced, nothing modelled", True)
"""The time that no network could improve on."""
STATIC = Level(
    "static loads",
    "a lower bound: the fullest link's bytes; simulated all-to-alls on tara took 1.03 to 1.77 times as long",
    True,
)
"""The fullest link under the traced messages, or the busiest rank's computation if that is longer."""
FITTED = "3.5% at most on tara's all-to-alls, the machine fitted to three of them; else not known"


def simulated(fabric: Fabric) -> Level:
    """A replay on a machine: its error depends on whether numbers of the machine were fitted to measured times."""
    if any(source.startswith("fitted") for source in fabric.sources.values()):
        return Level("simulated", FITTED, at_least=False)
    model = fabric.simulation.model if fabric.simulation else "fair"
    error = f"not fitted: {SHEET_ERRORS[model]} on tara's all-to-alls, from data sheets alone"
    return Level("simulated", error, at_least=False)
