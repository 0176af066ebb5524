# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``doctor``."""

import sys
from typing import Literal


def doctor(*, format: Literal["text", "json"] = "text") -> int:
    """Show what this host has, what it lacks and for which purpose, and the command that installs it.

    Exit code 0 when weft run can work on this host, else 1.

    Parameters
    ----------
    format
        text, or json: a list of objects with name, found, verdict, needed_for, remedy, needed.
    """
    import json
    from dataclasses import asdict

    from weft.doctor import examine, healthy

    probes = examine()
    if format == "json":
        sys.stdout.write(json.dumps([asdict(probe) for probe in probes], indent=2) + "\n")
        return 0 if healthy(probes) else 1

    from rich.text import Text

    from weft.text import console

    out = console(soft_wrap=True)
    colours = {"ok": "green", "warn": "yellow", "missing": "dim"}
    for probe in probes:
        colour = "red" if probe.needed and probe.verdict == "missing" else colours[probe.verdict]
        found = ": ".join(text for text in (probe.found, probe.needed_for) if text)
        line = Text(f"{probe.verdict:8}", colour).append(f"{probe.name:26}", "bold").append(found, "default")
        out.print(line)
        if probe.remedy:
            out.print(Text(f"{'':34}-> {probe.remedy}"))
    return 0 if healthy(probes) else 1
