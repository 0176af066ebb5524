# SPDX-License-Identifier: BSD-3-Clause
"""Processor time and peak memory of Weft on the largest machines it promises to plan for.

python bench/sizes.py
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

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


def main() -> int:
    """Run each command once and print what it took."""
    code = 0
    with tempfile.TemporaryDirectory(prefix="weft-sizes") as place:
        fifty, sixty, study = (Path(place, name) for name in ("fifty.toml", "sixty.toml", "pairs.toml"))
        fifty.write_text(FABRIC.format(nodes=50_000))
        sixty.write_text(FABRIC.format(nodes=64_000))
        study.write_text(PAIRS)
        for words in (["fabric", "show", fifty], ["fabric", "check", fifty], ["plan", study, "--on", sixty]):
            used = usage_of([sys.executable, "-m", "weft", *map(str, words)])
            told = f"{used.processor_s:.1f} s of processor time, {used.wall_s:.1f} s, {used.peak_bytes / 2**20:.0f} MiB"
            print(f"{' '.join(map(str, words[:2])).replace(place + '/', '')}: {told}, exit code {used.code}")
            code = code or used.code
    return code


if __name__ == "__main__":
    sys.exit(main())
