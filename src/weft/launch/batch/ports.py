# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the nodes' InfiniBand ports around a launch of a job, in the same rows as those of virtual links."""

import shutil
from collections.abc import Callable
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import write_atomic
from weft.launch.launcher import LaunchRequest
from weft.launch.perfquery import parse_perfquery, port_counts
from weft.store.links import LinkCount, links_file, passed, write_links

METHOD = "perfquery"
SCRIPT = Path(__file__).with_name("ports.sh")


def install_script(folder: Path) -> None:
    """Copy ``ports.sh`` into a run folder, where all nodes can read it.

    Raises DataError: The folder cannot be written.
    """
    place = folder / "launches" / SCRIPT.name
    write_atomic(place, SCRIPT.read_bytes())


def ports_folder(request: LaunchRequest) -> Path:
    """Folder for the output of ``ports.sh``: ``<host>.before`` and ``<host>.after``."""
    return request.folder / "launches" / f"{request.id}.ports"


def collect_ports(request: LaunchRequest, rate: float, say: Callable[[str], None]) -> None:
    """Write ``launches/<launch>.links.json`` of a launch that has ended, if its ports were read.

    A node that could not be read is left out. Counters that cannot be parsed are reported, but never end a run.

    Parameters
    ----------
    rate
        Bytes per second of a node's link; 0 if unknown.
    """
    folder = ports_folder(request)
    if not folder.is_dir():
        return
    counts: list[LinkCount] = []
    for before in sorted(folder.glob("*.before")):
        host = before.name.removesuffix(".before")
        try:
            counts += passed(*(_read(folder / f"{host}.{when}", host, rate) for when in ("before", "after")))
        except (DataError, OSError) as error:
            say(f"no link counters of {host} in launch {request.id}: {getattr(error, 'what', error)}")
    if counts:
        write_links(links_file(request.folder, request.id), request.id, METHOD, counts)
    shutil.rmtree(folder, ignore_errors=True)


def _read(path: Path, host: str, rate: float) -> list[LinkCount]:
    return port_counts(host, parse_perfquery(path.read_text()), rate)
