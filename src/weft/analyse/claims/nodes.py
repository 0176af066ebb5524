# SPDX-License-Identifier: BSD-3-Clause
"""What the nodes of a check say of themselves: who is late, slow alone, on TCP, or runs other software."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from weft.analyse.claims.make import Known
from weft.analyse.outliers.rule import LEAST_SCATTER, list_outliers
from weft.analyse.tables.claims import ClaimRow, Unit, make_claim
from weft.store.rows import NODE_REPORTS, RANK_TABLE, NodeReportRow, RankRow

Own = tuple[str, dict[str, Any]]  # a node, and what its claim says

SLOWING = ("memory", "processor", "waiting", "core", "cores")  # faults of a host by which its messages are slow, too
#: A node that waited for a core for this share of the check more than its peers is slow for others' sake; where most
#: waited as long, nodes share cores, and who waits more is chance.
LEAST_WAITED = 0.10
LEAST_SENT = 2**20  # fewer bytes than this between two readings are no measurement's
LEAST_LATE_S = 1.0  # a node that begins so many seconds after the median is named; its clock may be off by less
#: Segments that TCP sent again, from which on, and so many times those of a peer, they are reported.
LEAST_AGAIN, TIMES_PEERS = 100, 10


def find_node_faults(known: Known) -> list[ClaimRow]:
    """What is wrong with single nodes apart from their messages; of kind ``answer``, the largest factor first."""
    rows = _reports(known)
    own = [(of, *each) for of, find in _FAULTS.items() if rows for each in find(rows)]
    own += [("cores", *each) for each in _crowded(RANK_TABLE.read(known.path))]
    found = [
        make_claim(
            "check.also", "answer", name, more.get("factor"), "factor" if "factor" in more else "", confidence="B",
            of=of, nodes=len(rows), evidence=["node_reports"],
            **{key: value for key, value in more.items() if key != "factor"},
        )
        for of, name, more in own
    ]  # fmt: skip
    return sorted(found, key=lambda each: -(each["value"] or 0.0))


def find_node_facts(known: Known) -> list[ClaimRow]:
    """How MPI started, kernels that differ, and what adapters and TCP counted; of kind ``breakdown``."""
    rows = _reports(known)
    if not rows:
        return []
    began = np.array([row["began_ns"] for row in rows]) / 1e9
    last, late_s = int(began.argmax()), float(began.max() - np.median(began))
    init_s = max(row["init_ns"] for row in rows) / 1e9
    name = rows[last]["host"] if late_s >= LEAST_LATE_S else ""
    return [
        _fact("start.mpi", name, init_s, "seconds", late_s=late_s, nodes=len(rows)),
        *[_fact("start.kernel", name, **more) for name, more in _differing(rows, [row["kernel"] for row in rows])][:1],
        *_counted(rows),
    ]


def list_slow_hosts(rows: Sequence[NodeReportRow]) -> set[str]:
    """Names of the nodes whose own faults, as they report them, slow their messages."""
    return {name for of in SLOWING if of in _FAULTS and rows for name, _ in _FAULTS[of](rows)}


def _reports(known: Known) -> list[NodeReportRow]:
    rows = NODE_REPORTS.read(known.path)
    return [row for row in rows if row["launch_id"] == rows[-1]["launch_id"]]


def _fact(id: str, name: str, value: float | None = None, unit: Unit = "", **more: Any) -> ClaimRow:
    # B: what disturbs samples changes nothing of what a node says of itself
    return make_claim(id, "breakdown", name, value, unit, confidence="B", **more)


def _slow_alone(rows: Sequence[NodeReportRow], column: Literal["copy_ns", "loop_ns"]) -> Iterator[Own]:
    """Nodes that take longer than their peers for a fixed copy or computation."""
    rows = [row for row in rows if row[column] > 0]
    times = [row[column] for row in rows]
    logs = np.log(times) - np.log(np.median(times)) if times else np.zeros(0)
    for place in list_outliers(logs.tolist(), scatter=2 * LEAST_SCATTER):
        rate = rows[place]["copy_bytes"] / times[place] * 1e9
        yield rows[place]["host"], {"factor": float(np.exp(logs[place])), "rate": rate if column == "copy_ns" else None}


def _waiting(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    shares = np.array([row["waited_ns"] / max(row["wall_ns"], 1) for row in rows])
    peers = float(np.median(shares))
    for place in list_outliers(shares - peers, LEAST_WAITED, LEAST_SCATTER) if peers < LEAST_WAITED else ():
        yield rows[place]["host"], {"share": float(shares[place]), "peers": peers}


def _by_tcp(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    """Nodes with an adapter that is up and sent less than their network interfaces did."""
    for row in rows:
        if row["adapters"] and row["network_sent"] > max(row["adapter_sent"] / 2, LEAST_SENT):
            yield row["host"], {"sent": row["network_sent"], "by_adapter": row["adapter_sent"]}


def _odd_rates(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    """Nodes whose adapters are not as many, or not as fast, as those of most."""
    rates = [json.loads(row["rates"]) for row in rows]
    ports = any("/" in name for each in rates for name in each)
    own = [", ".join(sorted(rate for name, rate in each.items() if "/" in name or not ports)) for each in rates]
    return _differing(rows, own)


def _one_core(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    """Nodes on which a rank may use one core, and on most others several."""
    most = Counter(row["cpus"] for row in rows).most_common(1)[0][0]
    few = [row["host"] for row in rows if row["cpus"] == 1 and most > 1]
    return ((host, {"ranks": 1, "peers_cores": most}) for host in few)


def _differing(rows: Sequence[NodeReportRow], values: Sequence[str]) -> Iterator[Own]:
    """The nodes whose value is not that of most, where most have one."""
    usual, count = Counter(values).most_common(1)[0]
    for row, own in zip(rows, values, strict=True):
        if own != usual and 2 * count > len(values):
            yield row["host"], {"own": own, "peers": usual}


def _crowded(ranks: Sequence[RankRow]) -> Iterator[Own]:
    """Nodes on which several ranks are bound to the same single core."""
    last = ranks[-1]["launch_id"] if ranks else ""
    bound = Counter((row["host"], row["cpus"]) for row in ranks if row["launch_id"] == last and row["cpus"].isdecimal())
    most: dict[str, int] = {}
    for (host, _), count in bound.items():
        most[host] = max(most.get(host, 0), count)
    return ((host, {"ranks": count}) for host, count in most.items() if count > 1)


def _counted(rows: Sequence[NodeReportRow]) -> Iterator[ClaimRow]:
    """The node whose adapters counted most errors, and the one whose TCP sent most again, if it stands out."""
    errors: list[dict[str, int]] = [json.loads(row["errors"]) for row in rows]
    again = [each.pop("tcp retransmissions", 0) for each in errors]
    sums = [sum(each.values()) for each in errors]
    if worst := max(sums):
        place = sums.index(worst)
        what, nodes = max(errors[place], key=lambda name: errors[place][name]), sum(map(bool, sums))
        yield _fact("counted.errors", rows[place]["host"], worst, "count", what=what, nodes=nodes)
    if (most := max(again)) >= max(LEAST_AGAIN, TIMES_PEERS * float(np.median(again))):
        yield _fact("counted.retransmissions", rows[again.index(most)]["host"], most, "count", what="tcp", nodes=1)


_FAULTS: dict[str, Callable[[Sequence[NodeReportRow]], Iterator[Own]]] = {
    "memory": partial(_slow_alone, column="copy_ns"), "processor": partial(_slow_alone, column="loop_ns"),
    "waiting": _waiting, "tcp": _by_tcp, "adapter": _odd_rates,
    "library": lambda rows: _differing(rows, [row["mpi"] for row in rows]),
    "core": _one_core,
}  # fmt: skip
