# SPDX-License-Identifier: BSD-3-Clause
"""The table of link loads: what crossed each link during each launch, and what share of its rate that was."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.errors import DataError
from weft.fabric.link_names import DOWN, UP, depths, link_name
from weft.fabric.nodeset import expand
from weft.folder import read_json
from weft.launch.links import LinkCount, links_file, read_links

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("launch", pa.int16()),
        ("launch_id", pa.string()),
        ("nodes", pa.int32()),
        ("ranks", pa.int32()),
        ("link", pa.string()),
        ("cable", pa.string()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("direction", pa.string()),
        ("host_link", pa.bool_()),
        ("bytes", pa.int64()),
        ("packets", pa.int64()),
        ("drops", pa.int64()),
        ("rate", pa.float64()),
        ("seconds", pa.float64()),
        ("basis", pa.string()),
        ("share", pa.float64()),
        ("method", pa.string()),
    ]
)

OPERATIONS, LAUNCH = "operations", "launch"


def link_rows(
    root: Path, plan: Mapping[str, Any], segments: Iterable[Row], by_launch: Iterable[Row], validated: Iterable[Row]
) -> list[Row]:
    """Rows of ``tables/links.parquet``: one for each launch whose links were counted, and direction of a link.

    Parameters
    ----------
    root
        The run folder.
    plan
        The plan as plain data.
    segments
        Rows of the table of segments.
    by_launch
        Order statistics of each launch: their means say how long the counted operations took.
    validated
        Rows of the table of cells: where the data were proven, each operation was called once more.

    Returns
    -------
    list
        ``seconds`` is how long the launch's operations took in all, warm-up included (basis ``operations``), or the
        launch itself where no operation has a time (basis ``launch``); ``share`` is bytes / (rate x seconds), null
        where the rate is not known. The library's start, the barriers between samples and the proof of the data are in
        the bytes, so the share of a launch that moved little is too large. For a launch of several cells
        ``cell`` is the name of the batch (``g000``).

    Raises
    ------
    DataError
        A file of counters is torn.
    """
    busy = operation_seconds(segments, by_launch, validated)
    names = (plan["planned_fabric"].get("node") or {}).get("names")
    hosts = expand(names) if names else ()
    rows: list[Row] = []
    for launch in plan["launches"]:
        path = links_file(root, launch["id"])
        if not path.is_file():
            continue
        seconds = sum(busy.get((cell, launch["index"]), 0.0) for cell in launch["cells"])
        basis = OPERATIONS if seconds else LAUNCH
        own: Row = {
            "cell": launch["cells"][0] if len(launch["cells"]) == 1 else launch["id"].rpartition(".")[0],
            "launch": launch["index"],
            "launch_id": launch["id"],
            "nodes": launch["nodes"],
            "ranks": launch["ranks"],
            "seconds": seconds or _wall_seconds(root, launch["id"]),
            "basis": basis,
            "method": str(read_json(path).get("method", "")),
        }
        rows += [own | row for row in rows_of(read_links(path), hosts, own["seconds"])]
    return rows


def rows_of(counts: Sequence[LinkCount], hosts: Sequence[str], seconds: float | None) -> list[Row]:
    """A launch's counters with the names that bounds use, their direction, and their share of the link's rate."""
    depth = depths(hosts, [(count.source, count.target) for count in counts])
    rows: list[Row] = []
    for count in counts:
        up = depth.get(count.source, 0) < depth.get(count.target, 0)
        lower, direction = (count.source, UP) if up else (count.target, DOWN)
        share = count.bytes / (count.rate * seconds) if count.rate and seconds else None
        rows.append(
            {
                "link": link_name(lower, direction),
                "cable": count.link,
                "source": count.source,
                "target": count.target,
                "direction": direction,
                "host_link": lower in hosts,
                **{key: getattr(count, key) for key in ("bytes", "packets", "drops")},
                "rate": count.rate or None,
                "share": share,
            }
        )
    return rows


def operation_seconds(
    segments: Iterable[Row], by_launch: Iterable[Row], validated: Iterable[Row]
) -> dict[tuple[str, int], float]:
    """Seconds that the operations of each cell and launch took, by the calls that were made and their mean times.

    The steps of an operation that is timed as a whole (``total``) are not counted twice.
    """
    mean = {(row["cell"], row["launch"], row["call"], row["phase"]): row["mean_s"] for row in by_launch}
    proven = {(row["cell"], row["launch"]) for row in validated if row["validated"]}
    calls: dict[tuple[str, int, str, str], int] = {}
    for row in segments:
        key = (row["cell"], row["launch"], row["op"], row["phase"])
        once_more = row["phase"] == "warm" and key[:2] in proven
        calls[key] = calls.get(key, 0) + row["warmup"] + row["count"] * row["batch"] + once_more
    whole = {key[:2] for key in calls if key[2] == "total"}
    found: dict[tuple[str, int], float] = {}
    for key, number in calls.items():
        seconds = mean.get(key)
        if seconds and (key[2] == "total" or key[:2] not in whole):
            found[key[:2]] = found.get(key[:2], 0.0) + number * seconds
    return found


def _wall_seconds(root: Path, launch: str) -> float | None:
    """How long a launch lasted by its launcher's word; None where it did not note it."""
    path = root / "launches" / f"{launch}.outcome.json"
    try:
        return float(read_json(path)["wall_s"]) or None
    except (DataError, KeyError, TypeError, ValueError):
        return None
