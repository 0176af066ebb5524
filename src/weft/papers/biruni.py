# SPDX-License-Identifier: BSD-3-Clause
"""Paper 004: four collectives on two clusters that differ only in the interconnect."""

from collections import defaultdict

from weft.analyse.tables.times import timed
from weft.format import percent
from weft.kernel.sizes import split_op
from weft.papers import PARTS, Bench, Part, published
from weft.report.tabular import Table
from weft.report.view import RunView

STUDY, SLOW, FAST = "biruni-collectives", "biruni-ethernet", "biruni-infiniband"


def compute(bench: Bench) -> Part:
    """Compare the ratio of InfiniBand's time to Gigabit Ethernet's."""
    paper = published("biruni")
    slow, fast = times(bench.run(STUDY, SLOW)), times(bench.run(STUDY, FAST))
    lines, values = list[tuple[str, ...]](), dict[str, float]()
    for name in paper["experiment"]["collectives"]:
        for ranks in paper["experiment"]["processes"]:
            a, b = slow[name, ranks], fast[name, ranks]
            whole = sum(b.values()) / sum(a.values())
            mean = sum(b[size] / a[size] for size in a) / len(a)
            ends = (b[min(a)] / a[min(a)], b[max(a)] / a[max(a)])
            values |= {f"{name}{ranks}": whole, f"{name}{ranks}_mean": mean}
            printed = f"{paper['share'][name]} %" if name in paper["share"] else "–"
            lines.append((name, str(ranks), printed, *map(percent, (whole, mean, *ends))))
    columns = ("collective", "ranks", "paper", "summed over sizes", "mean over sizes", "at 1 B", "at 1 MiB")
    table = Table("InfiniBand's time as a share of Gigabit Ethernet's (simulated)", columns, tuple(lines))
    shares = [value for name, value in values.items() if not name.endswith("_mean")]
    found = (
        f"InfiniBand takes {percent(min(shares))} to {percent(max(shares))} of Ethernet's time, summed over 1 B to "
        f"1 MiB. The paper states 8.8 % for Alltoall (here {percent(values['alltoall16'])} and "
        f"{percent(values['alltoall32'])} on 16 and 32 ranks), 7.9 % for Gather ({percent(values['gather16'])} and "
        f"{percent(values['gather32'])}) and 24.2 % for Bcast ({percent(values['bcast16'])} and "
        f"{percent(values['bcast32'])}).",
        "These shares follow from the fabric files, in which nothing is fitted: 5 us against 50 us of latency (10 %) "
        "for small blocks and 1 GB/s against 125 MB/s (12.5 %) for large ones, assumed within the ranges that the "
        "paper gives; copies inside a node, alike on both, add to it.",
        "Alltoall and Gather are lower in the paper: a real Gigabit Ethernet loses packets where many send to one and "
        "waits for them, and TCP costs processor time; neither is modelled.",
        "Where a call has a root, each of the ranks is it once; a time is the median over roots.",
        "Bcast's 24.2 % is not reproduced: the part common to both clusters must be larger there. The "
        "paper does not say how its shares are averaged over sizes and processes, so which part is unknown.",
    )
    return Part("biruni", PARTS["biruni"], found, (table,), values)


def times(view: RunView) -> dict[tuple[str, int], dict[int, float]]:
    """Warm times in seconds by collective and ranks, then by size."""
    found: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    for row in timed(view.rows, phase="warm"):
        name, size = split_op(row["call"])
        if size is not None:
            found[name, row["ranks"]][size] = row["median_s"]
    return found
