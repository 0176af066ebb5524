# SPDX-License-Identifier: BSD-3-Clause
"""A simulated machine to run cells on; without SimGrid these tests say so and are left out."""

import shutil
from pathlib import Path

import pytest
from simulated_cells import TARA, Simulate, Simulated

from weft.fabric import Fabric, load_fabric
from weft.launch.launcher import LaunchRequest
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.programs import Programs, build_programs
from weft.launch.simulated.simgrid import find_simgrid


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
        values: tuple[str, ...] = ("data contention", "calls A B C"), order: str = "block",
    ) -> Simulated:  # fmt: skip
        folder = tmp_path / f"run{next(counter)}"
        (folder / "launches").mkdir(parents=True)
        (folder / "fabric.toml").write_text(text)
        fabric: Fabric = load_fabric(folder / "fabric.toml")
        plan = folder / "launches" / "c000.l1.plan"
        head = ("weft-plan 1", "launch c000.l1", "launch_index 1", "seed 1", f"folder {folder}", "io posix",
                "start barrier", "precision 0.05", "min_samples 10", "max_samples 100", "warmup_most 50",
                "budget_ns 5000000000", "limit_ns 0", "memory_limit_bytes 0")  # fmt: skip
        cell = ("cell c000", "kernel exchange", f"n {n}", f"m {m}", *values, "end")
        plan.write_text("\n".join((*head, *cell)) + "\n")
        request = LaunchRequest(
            id="c000.l1", ranks=nodes * ranks_per_node, nodes=fabric.hosts[:nodes], ranks_per_node=ranks_per_node,
            order=order, oversubscribed=False, plan=plan, folder=folder, limit_s=600.0,
        )  # fmt: skip
        (outcome,) = SimulatedLauncher(fabric, programs).run([request])
        return Simulated(outcome, folder)

    return run
