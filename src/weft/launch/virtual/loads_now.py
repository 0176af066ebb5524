# SPDX-License-Identifier: BSD-3-Clause
"""Bytes over the links of a running virtual cluster, from one file: no process is started beside the measured ones."""

from pathlib import Path

from weft.launch.virtual.spec import VirtualSpec
from weft.launch.virtual.wiring import ports
from weft.store.links import LinkCount


def counters_now(spec: VirtualSpec, holder: int) -> list[LinkCount]:
    """Bytes that crossed each link since the cluster came up; empty if it is gone.

    The switches' ends of all links lie in the holder's network namespace: what such a port received, the lower end has
    sent. Interfaces count a large send once, without the headers of its frames: 3 % less than :mod:`.counters`.
    """
    try:
        text = Path(f"/proc/{holder}/net/dev").read_text()
    except OSError:
        return []
    return counted(spec, text)


def counted(spec: VirtualSpec, text: str) -> list[LinkCount]:
    """Counters of each link from ``/proc/net/dev``: received bytes are its first number, sent ones its ninth."""
    lines = (line.partition(":") for line in text.splitlines())
    numbers = {name.strip(): values.split() for name, _, values in lines if values}
    found: list[LinkCount] = []
    both = ports(spec)
    for below, above in zip(both[::2], both[1::2], strict=True):
        shown = numbers.get(above.interface, [])
        if len(shown) < 10 or not all(word.isdecimal() for word in shown[:10]):
            continue
        for port, column in ((below, 0), (above, 8)):
            counts = (int(shown[column]), int(shown[column + 1]), 0)
            found.append(LinkCount(port.link, port.sender, port.receiver, port.rate, *counts))
    return found
