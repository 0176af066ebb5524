# SPDX-License-Identifier: BSD-3-Clause
"""What the nodes of a check say of themselves: who is late, slow alone, on TCP, or runs other software."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from weft.analyse.claims.known import Known
from weft.analyse.outliers.rule import LEAST_SCATTER, list_outliers
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.store.rows import NODE_REPORTS, RANK_TABLE, NodeReportRow, RankRow

Own = tuple[str, dict[str, Any]]  # a node, and what its claim says

#: A node that waited for a core for this share of the check more than its peers is slow for others' sake.
LEAST_WAITED = 0.10
#: Fewer bytes than this between two readings are no measurement's.
LEAST_SENT = 2**20
#: A node that begins so many seconds after the median is named; its clock may be off by less.
LEAST_LATE_S = 1.0
#: Segments that TCP sent again, from which on, and so many times those of a peer, they are reported.
LEAST_AGAIN, TIMES_PEERS = 100, 10


def find_node_faults(known: Known) -> list[ClaimRow]:
    """What is wrong with single nodes apart from their messages; of kind ``answer``, the largest factor first."""
    rows = _reports(known)
    found: list[ClaimRow] = []
    for of, find in _FAULTS.items() if rows else ():
        found += [_fault(of, name, more, len(rows)) for name, more in find(rows)]
    crowded = _crowded(RANK_TABLE.read(known.path))
    found += [_fault("cores", name, more, len(rows)) for name, more in crowded]
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
    # B: what disturbs samples changes nothing of what a node says of itself
    start = make_claim(
        "start.mpi", "breakdown", name, init_s, "seconds", confidence="B", late_s=late_s, nodes=len(rows)
    )
    others = [
        make_claim("start.kernel", "breakdown", name, confidence="B", **more) for name, more in _odd(rows, "kernel")
    ]
    return [start, *others[:1], *_counted(rows)]


def _reports(known: Known) -> list[NodeReportRow]:
    rows = NODE_REPORTS.read(known.path)
    last = rows[-1]["launch_id"] if rows else ""
    return [row for row in rows if row["launch_id"] == last]


def _fault(of: str, name: str, more: dict[str, Any], nodes: int) -> ClaimRow:
    factor = more.pop("factor", None)
    return make_claim(
        "check.also", "answer", name, factor, "factor" if factor else "", confidence="B", of=of, nodes=nodes,
        evidence=["node_reports"], **more,
    )  # fmt: skip


def _slow_copies(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    return _slow_alone([row for row in rows if row["copy_ns"] > 0], "copy_ns")


def _slow_loops(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    return _slow_alone([row for row in rows if row["loop_ns"] > 0], "loop_ns")


def _slow_alone(rows: Sequence[NodeReportRow], column: str) -> Iterator[Own]:
    times: list[int] = [row[column] for row in rows]  # pyrefly: ignore[bad-typed-dict-key]
    logs = np.log(times) - np.log(np.median(times)) if times else np.zeros(0)
    for place in list_outliers(logs.tolist(), scatter=2 * LEAST_SCATTER):
        rate = rows[place]["copy_bytes"] / times[place] * 1e9
        yield rows[place]["host"], {"factor": float(np.exp(logs[place])), "rate": rate if column == "copy_ns" else None}


def _waiting(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    shares = np.array([row["waited_ns"] / max(row["wall_ns"], 1) for row in rows])
    for place in list_outliers((shares - np.median(shares)).tolist(), LEAST_WAITED, LEAST_SCATTER):
        yield rows[place]["host"], {"share": float(shares[place]), "peers": float(np.median(shares))}


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
    return _differing([row["host"] for row in rows], own)


def _odd_libraries(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    return _odd(rows, "mpi")


def _one_core(rows: Sequence[NodeReportRow]) -> Iterator[Own]:
    """Nodes on which a rank may use one core, and on most others several."""
    most = Counter(row["cpus"] for row in rows).most_common(1)
    for row in rows:
        if row["cpus"] == 1 and most[0][0] > 1:
            yield row["host"], {"ranks": 1, "peers_cores": most[0][0]}


def _odd(rows: Sequence[NodeReportRow], column: str) -> Iterator[Own]:
    values: list[str] = [row[column] for row in rows]  # pyrefly: ignore[bad-typed-dict-key]
    return _differing([row["host"] for row in rows], values)


def _differing(names: Sequence[str], values: Sequence[str]) -> Iterator[Own]:
    """The nodes whose value is not that of most, where most have one."""
    usual, count = Counter(values).most_common(1)[0] if values else ("", 0)
    if 2 * count > len(values):
        yield from (
            (name, {"own": own, "peers": usual}) for name, own in zip(names, values, strict=True) if own != usual
        )


def _crowded(ranks: Sequence[RankRow]) -> Iterator[Own]:
    """Nodes on which several ranks are bound to the same single core."""
    last = ranks[-1]["launch_id"] if ranks else ""
    bound = Counter((row["host"], row["cpus"]) for row in ranks if row["launch_id"] == last and row["cpus"].isdecimal())
    most: dict[str, int] = {}
    for (host, _), count in bound.items():
        most[host] = max(most.get(host, 0), count)
    yield from ((host, {"ranks": count}) for host, count in most.items() if count > 1)


def _counted(rows: Sequence[NodeReportRow]) -> list[ClaimRow]:
    """The node whose adapters counted most errors, and the one whose TCP sent most again, if it stands out."""
    errors: list[dict[str, int]] = [json.loads(row["errors"]) for row in rows]
    again = [each.pop("tcp retransmissions", 0) for each in errors]
    sums = [sum(each.values()) for each in errors]
    found: list[ClaimRow] = []
    if worst := max(sums):
        place = sums.index(worst)
        what = max(errors[place], key=lambda name: errors[place][name])
        found.append(_count_claim("counted.errors", rows[place], worst, what, sum(map(bool, sums))))
    if max(again) >= max(LEAST_AGAIN, TIMES_PEERS * float(np.median(again))):
        found.append(_count_claim("counted.retransmissions", rows[again.index(max(again))], max(again), "tcp", 1))
    return found


def _count_claim(id: str, row: NodeReportRow, count: int, what: str, nodes: int) -> ClaimRow:
    return make_claim(id, "breakdown", row["host"], count, "count", confidence="B", what=what, nodes=nodes)


_FAULTS: dict[str, Callable[[Sequence[NodeReportRow]], Iterator[Own]]] = {
    "memory": _slow_copies, "processor": _slow_loops, "waiting": _waiting, "tcp": _by_tcp, "adapter": _odd_rates,
    "library": _odd_libraries, "core": _one_core,
}  # fmt: skip
