# SPDX-License-Identifier: BSD-3-Clause
"""What the routes predict is what the wires carry: link counters of the virtual network beside exact loads."""

import json
from pathlib import Path

import numpy as np
import pytest
from clusters import Installed
from numpy.typing import NDArray
from over_fabric import OVER_FABRIC, run_over

from made.view import load_view
from weft.analyse.tables.breakdown import LINKS
from weft.fabric import load_fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.kernel.traffic import skewed_weights
from weft.launch.preload import route_library
from weft.report.view import RunView
from weft.route.routes import Routes, placed_matrix

pytestmark = OVER_FABRIC

BLOCK = 256 * 1024
HEADERS = 66 / 8948  # Ethernet, IP, TCP with time stamps: bytes of a frame of 9,014 that are no payload
MATRIX = np.array([[0, 1, 8, 2], [4, 0, 1, 8], [1, 2, 0, 1], [2, 1, 4, 0]])
HOT = skewed_weights("moe2.5", 4)
STUDY = """
name = "loads"
kernel = "collective"
explain = false
[measure]
launches = 1
min_samples = 20
max_samples = 20
warmup_most = 5
budget = "30 s"
limit = "300 s"
seed = 7
[collective]
collectives = ["{collective}"]
sizes = ["{size}"]
{more}
[[series]]
name = "s"
nodes = [{nodes}]
ranks_per_node = 1
"""


def calls_of(view: RunView, name: str) -> tuple[str, int]:
    """The measured cell, and how often its operation ran: cold, warm-up, samples, and the proof."""
    (cell,) = [each for each in view.plan.cells if each.status != "fabric" and each not in view.plan.floors]
    (file,) = (view.path / "cells").glob(f"{cell.id}.l1.json")
    record = json.loads(file.read_text())
    mine = [each for each in record["segments"] if each["op"].startswith(name)]
    assert record["validation"]["performed"]
    return cell.id, 1 + sum(each["count"] * each["batch"] + each["warmup"] for each in mine)


def predicted(network: Network, amounts: NDArray[np.float64]) -> dict[tuple[str, str], float]:
    """Bytes a call over every link, by its two ends."""
    load = placed_matrix(Routes(network, route_library()), amounts, np.arange(len(amounts), dtype=np.int32))
    name, links = network.vertex_name, network.links
    ends = zip(links.source.tolist(), links.target.tolist(), strict=True)
    return {(name(a), name(b)): float(units) for (a, b), units in zip(ends, load, strict=True)}


@pytest.mark.parametrize(
    ("nodes", "collective", "amounts"),
    [
        (3, "Alltoall", np.ones((3, 3)) * 4 * BLOCK),
        (4, "Alltoall", np.ones((4, 4)) * 4 * BLOCK),
        (4, "Alltoallv", MATRIX * (4 * BLOCK / 8)),
        (4, "Alltoallv", HOT * 4 * BLOCK / HOT.mean()),
    ],
)
def test_the_counters_of_every_link_are_the_loads_of_its_routes(
    installed: Installed, tmp_path: Path, nodes: int, collective: str, amounts: NDArray[np.float64]
) -> None:
    more, size = "", "1 MiB"
    if collective == "Alltoallv" and amounts.max() != 4 * BLOCK:
        more = 'patterns = ["moe"]\nskew = [2.5]'
    elif collective == "Alltoallv":
        more = f'patterns = ["matrix"]\nmatrix = "{tmp_path}/matrix.npy"'
        np.save(tmp_path / "matrix.npy", MATRIX)
    fabric = load_fabric("virtual-default")
    # clocks, barriers and the rates measured beside the cell cross the links too: little beside blocks of this size
    study = STUDY.format(collective=collective, size=size, nodes=nodes, more=more)
    view = load_view(run_over(fabric, installed, study, tmp_path / "run"))
    cell, calls = calls_of(view, collective.lower())
    counted = {(row["source"], row["target"]): row["bytes"] for row in LINKS.read(view.path) if row["cell"] == cell}
    expected = predicted(build_network(fabric), amounts)
    wrong = {
        ends: (counted[ends], calls * units)
        for ends, units in expected.items()
        if units and not 1 <= counted[ends] / (calls * units * (1 + HEADERS)) <= 1.08
    }
    assert not wrong, (calls, wrong)
    used = [ends for ends, units in expected.items() if units]
    assert len(used) >= 2 * nodes + 2
    # links that the routes do not use carry set-up traffic alone
    assert all(counted[ends] < 0.05 * calls * amounts.max() for ends in counted if not expected[ends])
