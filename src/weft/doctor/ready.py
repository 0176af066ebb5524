# SPDX-License-Identifier: BSD-3-Clause
"""The last line of ``weft doctor``: on which kinds of fabrics ``weft run`` can measure from here."""

from collections.abc import Sequence

from weft.doctor.probe import Probe
from weft.errors import LaunchError
from weft.fabric.kinds import KINDS
from weft.launch.batch.scheduler import refuse_missing
from weft.launch.batch.schedulers import SCHEDULERS


def ready(probes: Sequence[Probe]) -> str:
    """One line: ``ready: local; missing for virtual: iproute2; not tried: slurm (weft doctor --on FABRIC tries it)``.

    Kinds whose scheduler is not here are left out: a laptop lacks nothing without one. Where its commands are, only a
    job shows whether it works.
    """
    base = [probe.lacks or probe.name for probe in probes if probe.needed and probe.verdict == "missing"]
    here: list[str] = []
    parts: list[str] = []
    untried: list[str] = []
    for kind in KINDS:
        if kind in SCHEDULERS and not is_here(kind):
            continue
        lacking = base + [
            probe.lacks or probe.name for probe in probes if probe.serves == kind and probe.verdict == "missing"
        ]
        if lacking:
            parts.append(f"missing for {kind}: {', '.join(dict.fromkeys(lacking))}")
        elif kind in SCHEDULERS:
            untried.append(kind)
        else:
            here.append(kind)
    if untried:
        parts.append(f"not tried: {', '.join(untried)} (weft doctor --on FABRIC tries it)")
    return "; ".join([f"ready: {', '.join(here)}" if here else "not ready for anything", *parts])


def is_here(kind: str) -> bool:
    """Whether the commands of a scheduler are on PATH."""
    try:
        refuse_missing(SCHEDULERS[kind]())
    except LaunchError:
        return False
    return True
