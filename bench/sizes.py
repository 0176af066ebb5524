# SPDX-License-Identifier: BSD-3-Clause
"""Processor time and peak memory of Weft on the largest machines it promises to plan for, and on a run of many cells.

python bench/sizes.py [machines | cells]
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

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
launches = 5
seed = 7
[[series]]
name = "grid"
nodes = [1, 2, 4, 8, 16, 32]
ranks_per_node = 8
n = 65536
m = {m}
"""


def told(name: str, words: Sequence[object]) -> int:
    """Run a command of Weft, print what it took, and return its exit code."""
    used = usage_of([sys.executable, "-m", "weft", *map(str, words)])
    took = f"{used.processor_s:.1f} s of processor time, {used.wall_s:.1f} s, {used.peak_bytes / 2**20:.0f} MiB"
    print(f"{name}: {took}, exit code {used.code}")
    return used.code


def cells() -> int:
    """The first `show` of a made run of 4,920 records, which makes its tables; a later one; its report."""
    study, fabric = CELLS.format(m=list(range(1, 164))), MANY.format(kind="slurm", memory="64 GiB")
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        run = make_run(Path(place, "run"), Made(study=study, fabric=fabric, samples=5))
        print(f"{len(list(run.glob('cells/*.json'))):,} records, up to 256 ranks")
        words = {"show, first": ["show", run], "show, later": ["show", run], "report": ["report", run]}
        return max(told(name, given) for name, given in words.items())


def machines() -> int:
    """Large machines: shown, checked, planned for."""
    code = 0
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        fifty, sixty, study = (Path(place, name) for name in ("fifty.toml", "sixty.toml", "pairs.toml"))
        fifty.write_text(FABRIC.format(nodes=50_000))
        sixty.write_text(FABRIC.format(nodes=64_000))
        study.write_text(PAIRS)
        for words in (["fabric", "show", fifty], ["fabric", "check", fifty], ["plan", study, "--on", sixty]):
            code = told(f"{words[0]} {Path(str(words[1])).name}", words) or code
    return code


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["machines", "cells"]
    sys.exit(max({"machines": machines, "cells": cells}[name]() for name in chosen))
