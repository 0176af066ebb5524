# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` of 1,024 simulated nodes: a planted cable is named, in two minutes of processor time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.fabric import load_fabric
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.run.check import Asked, exit_code, run_check
from weft.run.progress import Silent

pytestmark = [pytest.mark.simulated, pytest.mark.long]
MOST_S = 120  # of a processor, for both passes

MACHINE = """
name = "machine"
kind = "simulated"
[node]
names = "n[0-1023]"
sockets = 2
cores = 8
memory = "24 GiB"
copy_rate = "5 GB/s"
[network]
latency = "1.2 us"
adapter_rate = "2 GB/s"
topology = "fat-tree"
[network.tree]
nodes_per_leaf = 32
uplinks = 16
link_rate = "2 GB/s"
"""


class Counting(SimulatedLauncher):
    """A launcher that adds up the processor time of its simulations."""

    processor_s = 0.0

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Count and yield each outcome."""
        for outcome in super().run(requests):
            self.processor_s += outcome.processor_s
            yield outcome


def test_a_slow_cable_of_a_tree_of_1024_nodes_is_named(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cable = "leaf3 - spine5"
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    (tmp_path / "machine.toml").write_text(f'{MACHINE}[network.rates]\n"{cable}" = "1 GB/s"\n')
    fabric = load_fabric(tmp_path / "machine.toml")
    launcher = Counting(fabric, programs)
    folder = run_check(fabric, Asked(), launcher, Silent(), tmp_path / "run")
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], extras(answer)["of"], answer["subject"]) == ("check.not-healthy", "cable", cable)
    assert (answer["value"] or 0.0) == pytest.approx(2, rel=0.05)  # 1 GB/s, from adapters of 2 GB/s
    assert exit_code(folder) == 3
    assert 0 < launcher.processor_s < MOST_S
