# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the nodes' InfiniBand ports around a launch (``perfquery -x``), in the rows of virtual links.

Needs read access to ``/dev/infiniband/umad*``, which sites often restrict to root; then there are no counters.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import write_atomic
from weft.launch.launcher import LaunchRequest
from weft.store.links import LinkCount, links_file, passed, write_links

LINE = re.compile(r"([A-Za-z]\w*):\.*(-?\d+|0x[0-9a-fA-F]+)")
WORD = 4  # PortXmitData and PortRcvData count words of four bytes (InfiniBand specification, PortCounters)

FABRIC = "fabric"


def parse_perfquery(text: str) -> dict[str, int]:
    """Counters by name, e.g. ``PortXmitData``. Raises DataError: One of the four traffic counters is missing."""
    found = {name: int(value, 0) for name, value in LINE.findall(text)}
    missing = [name for name in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts") if name not in found]
    if missing:
        raise DataError(f"perfquery printed no {missing[0]}: {text.strip()[:200]!r}", "try it by hand: perfquery -x")
    return found


def port_counts(host: str, counters: dict[str, int], rate: float = 0.0) -> list[LinkCount]:
    """Rows of a host's link, one for each direction.

    A port counts packets that it discards on output. Only the switch knows what it discarded towards the host, so the
    row of that direction has the packets received with errors. `rate`: bytes per second of the link; 0 if unknown.
    """
    name, discarded, broken = f"{host}-{FABRIC}", counters.get("PortXmitDiscards", 0), counters.get("PortRcvErrors", 0)
    return [
        LinkCount(name, host, FABRIC, rate, WORD * counters["PortXmitData"], counters["PortXmitPkts"], discarded),
        LinkCount(name, FABRIC, host, rate, WORD * counters["PortRcvData"], counters["PortRcvPkts"], broken),
    ]


METHOD = "perfquery"
SCRIPT = Path(__file__).with_name("ports.sh")


def install_script(folder: Path) -> None:
    """Copy ``ports.sh`` into a run folder, where all nodes can read it; DataError if it cannot be written."""
    write_atomic(folder / "launches" / SCRIPT.name, SCRIPT.read_bytes())


def collect_ports(request: LaunchRequest, rate: float, say: Callable[[str], None]) -> None:
    """Write ``launches/<launch>.links.json`` of a launch that has ended, without the nodes that could not be read."""
    folder = request.file("ports")  # ``<host>.before`` and ``<host>.after``, by ``ports.sh``
    if not folder.is_dir():
        return
    counts: list[LinkCount] = []
    for before in sorted(folder.glob("*.before")):
        host = before.name.removesuffix(".before")
        try:
            texts = (path.read_text(encoding="utf-8") for path in (before, before.with_suffix(".after")))
            counts += passed(*(port_counts(host, parse_perfquery(text), rate) for text in texts))
        except (DataError, OSError) as error:
            say(f"no link counters of {host} in launch {request.id}: {getattr(error, 'what', error)}")
    if counts:
        write_links(links_file(request.folder, request.id), request.id, METHOD, counts)
    shutil.rmtree(folder, ignore_errors=True)
