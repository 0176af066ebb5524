# SPDX-License-Identifier: BSD-3-Clause
"""Processor time and peak memory of Weft on the largest machines it promises to plan for, and on large runs.

    python bench/sizes.py [machines | dump | cells | many | pairs | pairs-by-nodes]

Exit code 1 if a command fails, or takes over 1.5 times its limit.
"""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from made.run import MANY, Made, make_run  # noqa: E402
from made.usage import usage_of  # noqa: E402

FABRIC = """\
name = "big"
kind = "simulated"
[node]
names = "n[1-{nodes}]"
cores = 48
memory = "192 GiB"
copy_rate = "100 GB/s"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "12 GB/s"
[network.tree]
nodes_per_leaf = 20
uplinks = 20
leaves_per_pod = 50
pod_uplinks = 400
link_rate = "12 GB/s"
"""
PAIRS = (
    'name = "p"\nkernel = "pairs"\n[measure]\nseed = 1\n[[series]]\nname = "all"\nnodes = 64000\nranks_per_node = 1\n'
)

CELLS = """\
name = "many"
kernel = "exchange"
[measure]
launches = {launches}
seed = 7
[[series]]
name = "grid"
nodes = {nodes}
ranks_per_node = 8
n = 65536
m = {m}
"""


class Limit(NamedTuple):
    """What a command may take: processor time, memory, and the size of the page that it writes; 0 for any."""

    processor_s: float
    peak_bytes: float
    page_bytes: float = 0.0


#: Of every row: a row without a limit ends the program.
LIMITS = {
    "fabric show": Limit(15.0, 1 << 30),
    "fabric check": Limit(5.0, 1 << 30),
    "plan pairs.toml": Limit(10.0, 2 << 30),
    "fabric import": Limit(30.0, 2 << 30),
    "dump, fabric show": Limit(30.0, 2 << 30),
    "dump, place": Limit(30.0, 2 << 30),
    "dump, route show": Limit(30.0, 2 << 30),
    "978 cells, show, first": Limit(15.0, 1 << 30),
    "978 cells, show, later": Limit(3.0, 1 << 29),
    "978 cells, report": Limit(15.0, 1 << 30),
    "19,998 cells, show, first": Limit(200.0, 2 << 30),
    "19,998 cells, show, later": Limit(30.0, 2 << 30),
    "19,998 cells, report": Limit(120.0, 2 << 30),
    "pairs of 4,096 ranks, analysis": Limit(25.0, 2 << 30),
    "pairs of 4,096 ranks, report": Limit(5.0, 1 << 30, 5e6),
    "pairs of 4,096 ranks, ranks of two nodes": Limit(5.0, 1 << 30),
    "pairs of 16,384 ranks, analysis": Limit(120.0, 2 << 30),
    "pairs of 16,384 ranks, report": Limit(5.0, 1 << 30, 5e6),
    "pairs of 16,384 ranks, ranks of two nodes": Limit(30.0, 1 << 30),
}
SLACK = 1.5  # a busy machine takes longer: a test that fails at the limit itself would fail by chance


def print_row(name: str, words: Sequence[object], page: Path | None = None) -> int:
    """Run a command of Weft, or a program of Python, and print what it took beside its limit; 1 if that is too much."""
    program = ["-m", "weft", *map(str, words)] if len(words) > 1 else ["-c", str(words[0])]
    used = usage_of([sys.executable, *program])
    size = page.stat().st_size if page and page.is_file() else 0
    limit, seen = LIMITS[name], Limit(used.processor_s, used.peak_bytes, size)
    took = f"{used.processor_s:.1f} s of processor time, {used.wall_s:.1f} s, {used.peak_bytes / 2**20:.0f} MiB"
    took += f", page {size / 1e6:.1f} MB" if page else ""
    above = any(value > SLACK * most > 0 for value, most in zip(seen, limit, strict=True))
    print(f"{name}: {took}, exit code {used.code}{' OUTSIDE of its limit' if above else ''}", flush=True)
    if used.code:
        print(used.output[-2000:])
    return used.code or int(above)


ANALYSE = """
import sys
sys.path[:0] = {paths}
from pathlib import Path
from made.pairs_run import analyse_pairs_run
analyse_pairs_run(Path({run!r}))
"""


def show_pairs(per_node: int) -> int:
    """The analysis of a made run of pairs of 256 nodes, of which one is slow, its page, and the ranks of two nodes."""
    from made.pairs import Cluster, Faults
    from made.pairs_run import begin_pairs_run, write_pair_tables

    cluster = Cluster(256, per_node)
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        run = Path(place, "run")
        begin_pairs_run(run, cluster)
        write_pair_tables(run, cluster, cluster.many_pairs(Faults(senders={77: 2.0})))
        ranks = f"pairs of {cluster.places.ranks:,} ranks"
        code = print_row(f"{ranks}, analysis", [ANALYSE.format(paths=sys.path[:2], run=str(run))])
        code = code or print_row(f"{ranks}, report", ["report", run], run / "report.html")
        return code or print_row(f"{ranks}, ranks of two nodes", ["show", run, "--between", "n077", "n200"])


def pairs() -> int:
    """4,096 ranks, each pair by itself."""
    return show_pairs(16)


def pairs_by_nodes() -> int:
    """16,384 ranks, whose pairs are analysed by nodes; 14 GB on disk meanwhile."""
    return show_pairs(64)


def show_cells(lengths: int, launches: int, nodes: list[int]) -> int:
    """The first `show` of a made run of many cells, which makes its tables; a later one; its report."""
    study = CELLS.format(m=list(range(1, lengths + 1)), launches=launches, nodes=nodes)
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        made = Made(study=study, fabric=MANY.format(kind="slurm", memory="64 GiB"), samples=5)
        run = make_run(Path(place, "run"), made)
        print(f"{len(list(run.glob('cells/*.json'))):,} records, up to {8 * max(nodes)} ranks")
        words = {"show, first": ["show", run], "show, later": ["show", run], "report": ["report", run]}
        named = f"{lengths * len(nodes):,} cells"
        return max(print_row(f"{named}, {name}", given, run / "report.html") for name, given in words.items())


def cells() -> int:
    """978 cells in five launches."""
    return show_cells(163, 5, [1, 2, 4, 8, 16, 32])


def many() -> int:
    """As many cells as a run may have, in one launch."""
    return show_cells(6666, 1, [1, 2, 4])


def machines() -> int:
    """Large machines: shown, checked, planned for."""
    code = 0
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        fifty, sixty, study = (Path(place, name) for name in ("fifty.toml", "sixty.toml", "pairs.toml"))
        fifty.write_text(FABRIC.format(nodes=50_000))
        sixty.write_text(FABRIC.format(nodes=64_000))
        study.write_text(PAIRS)
        for words in (["fabric", "show", fifty], ["fabric", "check", fifty], ["plan", study, "--on", sixty]):
            code = print_row(f"{words[0]} {Path(str(words[1])).name}", words) or code
    return code


def dump() -> int:
    """A dump without tables of 48,778 hosts on 4,205 switches of 58 ports: more than a subnet has addresses for."""
    from weft.fabric.network.sections import TreeSection
    from weft.fabric.network.tree import fat_tree
    from weft.route import subnet

    half = 29
    section = TreeSection.model_construct(
        nodes_per_leaf=half, uplinks=half, spines=half, leaves_per_pod=half, pod_uplinks=half**2, cores=half**2,
        link_rate=1e9,
    )  # fmt: skip
    setattr(subnet, "MOST_LIDS", 1 << 20)  # noqa: B010
    network = fat_tree([f"n{host}" for host in range(2 * half**3)], section, rate=1e9)
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        net, fabric = Path(place, "fabric.net"), Path(place, "fabric.toml")
        net.write_text(subnet.ibsim_text(network), encoding="utf-8")
        code, os.environ["XDG_CACHE_HOME"] = 0, place  # tables that an earlier run kept would cost nothing
        usage_of([sys.executable, "-c", "from weft.launch.preload import route_library; route_library()"])
        rows = {"fabric import": ["fabric", "import", net, "-o", fabric], "dump, route show": ["route", "show", fabric]}
        rows |= {"dump, fabric show": ["fabric", "show", fabric], "dump, place": ["place", fabric, "--nodes", 64]}
        for name, words in rows.items():
            code = code or print_row(name, words)
    return code


if __name__ == "__main__":
    parts = {
        "machines": machines,
        "dump": dump,
        "cells": cells,
        "many": many,
        "pairs": pairs,
        "pairs-by-nodes": pairs_by_nodes,
    }
    sys.exit(max(parts[name]() for name in sys.argv[1:] or parts))
