# SPDX-License-Identifier: BSD-3-Clause
"""Adapters of this host under ``/sys/class/infiniband``: which preset their rate is, and how many there are."""

import re
from pathlib import Path

from weft.fabric.site.found import Adapter
from weft.text import plain

GENERATIONS = {"QDR": "qdr", "FDR": "fdr", "EDR": "edr", "HDR": "hdr", "NDR": "ndr"}
OMNI_PATH = "hfi1"


def read_adapters(folder: Path = Path("/sys/class/infiniband")) -> tuple[Adapter, ...]:
    """Ports that are active, those of InfiniBand and the fastest first; none where there is no such folder.

    The first is taken for that of the messages: many nodes have a slower Ethernet port, for storage, with a lower name.
    """
    found: list[Adapter] = []
    for port in sorted(folder.glob("*/ports/*")):
        state, rate, layer = (_text(port / name) for name in ("state", "rate", "link_layer"))
        if "ACTIVE" in state:
            found.append(Adapter(f"{plain(port.parts[-3])} port {plain(port.name)}", rate, layer or "InfiniBand"))
    return tuple(sorted(found, key=lambda each: (each.layer != "InfiniBand", -gbit(each))))


def preset_of(adapter: Adapter) -> str:
    """Name of the preset of ``[network]`` that has this adapter's numbers; empty if none has."""
    if adapter.name.startswith(OMNI_PATH):
        return "omni-path-100" if gbit(adapter) == 100 else ""
    found = re.search(r"\((\d+)X (\w+)\)", adapter.rate)
    if not found or found[1] != "4" or adapter.layer != "InfiniBand":
        return ""
    name = GENERATIONS.get(found[2], "")
    return f"{name}-infiniband" if name else ""


def gbit(adapter: Adapter) -> float:
    """Rate in Gbit/s: ``100 Gb/sec (4X EDR)``; 0 if it says none."""
    found = re.match(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec", adapter.rate)
    return float(found[1]) if found else 0.0


def _text(path: Path) -> str:
    try:
        return plain(path.read_bytes()[:200].decode("utf-8", "replace").strip())
    except OSError:
        return ""
