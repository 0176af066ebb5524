# SPDX-License-Identifier: BSD-3-Clause
"""A simulated machine to run cells on; without SimGrid these tests say so and are left out."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from simulated_cells import TARA, Simulate, Simulated

from weft.fabric import Fabric, load_fabric
from weft.launch.launcher import LaunchRequest
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs, build_programs, find_simgrid
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, flat_launch
from weft.study import Measure

ABC = {"data": "contention", "calls": ["A", "B", "C"]}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longer than others: whichever test comes first waits until the kernels are built."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The kernels and the machine library, built once into the user's cache."""
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")
    return build_programs(find_simgrid())


@pytest.fixture
def simulate(programs: Programs, tmp_path: Path) -> Simulate:
    """Simulate one cell of the exchange kernel on a fabric."""
    counter = iter(range(100))

    def run(
        nodes: int = 2, ranks_per_node: int = 8, n: int = 1492992, m: int = 512, text: str = TARA,
        values: dict[str, Any] = ABC, order: str = "block",
    ) -> Simulated:  # fmt: skip
        folder = tmp_path / f"run{next(counter)}"
        (folder / "launches").mkdir(parents=True)
        (folder / "fabric.toml").write_text(text)
        fabric: Fabric = load_fabric(folder / "fabric.toml")
        launcher = SimulatedLauncher(fabric, programs)
        ranks = nodes * ranks_per_node
        asked = LaunchCell("c000", "exchange", {"n": n, "m": m, **values}, ranks)
        plan = folder / "launches" / "c000.l1.plan"
        plan.write_text(flat_launch(FlatHead("c000.l1", 1, folder), [asked], Measure(), launcher.rules))  # pyright: ignore[reportCallIssue]
        request = LaunchRequest(
            id="c000.l1", ranks=ranks, nodes=fabric.hosts[:nodes], ranks_per_node=ranks_per_node,
            order=order, oversubscribed=False, plan=plan, folder=folder, limit_s=600.0, cells=(asked,),
        )  # fmt: skip
        (outcome,) = launcher.run([request])
        return Simulated(outcome, folder)

    return run
