# SPDX-License-Identifier: BSD-3-Clause
"""Counters of an InfiniBand port, from ``perfquery -x``, in the same rows as those of virtual links.

Needs read access to ``/dev/infiniband/umad*``, which sites often restrict to root; then there are no counters, and
that is not an error.
"""

import re

from weft.errors import DataError
from weft.store.links import LinkCount

LINE = re.compile(r"([A-Za-z]\w*):\.*(-?\d+|0x[0-9a-fA-F]+)")
WORD = 4
"""PortXmitData and PortRcvData count words of four bytes (InfiniBand specification, PortCounters)."""

FABRIC = "fabric"


def parse_perfquery(text: str) -> dict[str, int]:
    """Counters by name, e.g. ``PortXmitData``.

    Raises DataError: One of the four traffic counters is missing.
    """
    found = {name: int(value, 0) for name, value in LINE.findall(text)}
    missing = [name for name in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts") if name not in found]
    if missing:
        raise DataError(f"perfquery printed no {missing[0]}: {text.strip()[:200]!r}", "try it by hand: perfquery -x")
    return found


def port_counts(host: str, counters: dict[str, int], rate: float = 0.0) -> list[LinkCount]:
    """Rows of a host's link, one for each direction.

    A port counts packets that it discards on output. Only the switch knows what it discarded towards the host, so the
    row of that direction has the packets received with errors.

    Parameters
    ----------
    rate
        Bytes per second of the link; 0 if unknown.
    """
    name = f"{host}-{FABRIC}"
    discarded = counters.get("PortXmitDiscards", 0)
    broken = counters.get("PortRcvErrors", 0)
    return [
        LinkCount(name, host, FABRIC, rate, WORD * counters["PortXmitData"], counters["PortXmitPkts"], discarded),
        LinkCount(name, FABRIC, host, rate, WORD * counters["PortRcvData"], counters["PortRcvPkts"], broken),
    ]
