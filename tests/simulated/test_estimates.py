# SPDX-License-Identifier: BSD-3-Clause
"""What `weft plan` expects simulations to cost, beside the processor time that they take."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from simulated_cells import TARA

from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.run.one import run_study

pytestmark = pytest.mark.simulated
STUDY = """
name = "one"
kernel = "{kernel}"
{head}
[measure]
seed = 1
launches = 1
[{kernel}]
{section}
[[series]]
name = "one"
nodes = {nodes}
ranks_per_node = 8
{tail}
"""
START = {"kernel": "collective", "nodes": 1, "section": 'collectives = ["Bcast"]\nsizes = ["64 B"]'}
CASES = {
    "exchange": {
        "head": "explain = false", "section": 'data = "contention"\ncalls = ["C"]', "nodes": "[32]",
        "tail": 'scaling = "weak"\nn = 65536\nm = 64',
    },
    "collective": {"section": 'collectives = ["Alltoall"]\nsizes = ["64 KiB"]', "nodes": 24},
    "collective small": {
        "head": "explain = false", "section": 'collectives = ["Alltoall"]\nsizes = ["4 KiB"]', "nodes": 12,
    },
    "pairs": {"section": 'bytes = ["0 B", "64 KiB"]', "nodes": 12},
    "bandwidth": {"section": "", "nodes": 36},
}  # fmt: skip


class Taking:
    """A launcher that sums what its launches were expected to take, and took, s of processor time."""

    def __init__(self, inner: SimulatedLauncher) -> None:
        self.inner, self.expected_s, self.taken_s = inner, 0.0, 0.0
        self.rules, self.provenance = inner.rules, inner.provenance

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        self.expected_s += sum(self.inner.cost(request).seconds for request in requests)
        for outcome in self.inner.run(requests):
            self.taken_s += outcome.processor_s
            yield outcome


def taken(place: Path, programs: Programs, **said: object) -> Taking:
    """A study of one launch on tara."""
    place.mkdir()
    (place / "fabric.toml").write_text(TARA)
    (place / "study.toml").write_text(STUDY.format(**{"head": "", "tail": "", **said}))
    fabric = load_fabric(place / "fabric.toml")
    launcher = Taking(SimulatedLauncher(fabric, programs, workers=1))
    run_study(load_study(place / "study.toml"), fabric, place / "run", launcher, tables=False)
    return launcher


@pytest.mark.parametrize("case", CASES)
def test_a_simulation_takes_half_to_twice_of_what_is_expected(case: str, tmp_path: Path, programs: Programs) -> None:
    """Pairs of 1,024 ranks were expected to take 4 min and took 13; processor time does not depend on other work."""
    start_s = taken(tmp_path / "start", programs, **START).taken_s
    found = taken(tmp_path / "one", programs, kernel=case.split()[0], **CASES[case])
    took_s = found.taken_s - start_s
    print(f"{case}: expected {found.expected_s:.2f} s, took {took_s:.2f} s, start {start_s:.2f} s")
    assert 0.5 < took_s / found.expected_s < 2, (found.expected_s, took_s)
