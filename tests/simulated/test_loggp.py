# SPDX-License-Identifier: BSD-3-Clause
"""LogGP's o, g and G of a message in the simulator, beside the bounds and the closed form of the same file."""

from pathlib import Path
from typing import Any

import pytest
from simulated_cells import Simulate
from walked import rows_of, walked

from weft.bound.placed import terms_of
from weft.fabric import Fabric, load_fabric
from weft.fit.inputs import MeasuredCell
from weft.fit.run import bound_time, placed
from weft.kernel.exchange import Exchange
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
STAR = """
name = "star"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 8
copy_rate = "100 GB/s"
[network]
topology = "star"
latency = "1 us"
adapter_rate = "10 GB/s"
"""
GAP = 'message_gap = "2 us"\n'
SEGMENTS = 'overhead = "1 us"\n[[network.segments]]\nabove = "64 B"\noverhead = "20 us"\nrate = "1 GB/s"\n'
ABC: dict[str, Any] = {"n": 8192, "m": 8}


def fabric_of(folder: Path, text: str) -> Fabric:
    (folder / "f.toml").write_text(text)
    return load_fabric(folder / "f.toml")


def test_a_gap_is_in_the_time_the_bound_and_the_closed_form_alike(simulate: Simulate, tmp_path: Path) -> None:
    # 459 us stood beside a bound of 1 us
    seconds = simulate(nodes=4, text=STAR + GAP, **ABC).seconds("C", "warm")
    fabric = fabric_of(tmp_path, STAR + GAP)
    cell = MeasuredCell(nodes=4, ranks_per_node=8, seconds=1, **ABC)
    where = placed(fabric, cell)
    terms = terms_of(Exchange().traffic(where.parameters, cell.ranks)["C"], where, fabric)
    assert max(terms, key=lambda name: terms[name]) == "message gap"
    assert terms["message gap"] <= seconds < 1.25 * terms["message gap"]
    assert bound_time(fabric, cell) == pytest.approx(seconds, rel=0.15)


def test_no_simulation_is_faster_than_the_bound_of_its_overhead(simulate: Simulate, tmp_path: Path) -> None:
    # messages inside a node were counted in the bound, and cost nothing
    text = STAR + 'overhead = "1 ms"\n'
    fabric = fabric_of(tmp_path, text)
    run = simulate(nodes=2, text=text, **ABC)
    where = placed(fabric, MeasuredCell(nodes=2, ranks_per_node=8, seconds=1, **ABC))
    moved = Exchange().traffic({**where.parameters, "calls": ["A", "B", "C"]}, 16)
    for call, traffic in moved.items():
        assert terms_of(traffic, where, fabric)["overhead"] <= run.seconds(call, "warm"), call


def test_segments_cost_what_they_say_by_size(simulate: Simulate) -> None:
    # blocks of 16 KiB: 20 us each, and nine tenths of a nanosecond a byte; the counts of A 1 us each
    big = {"n": 4096, "m": 8, "ranks_per_node": 1}
    segmented, plain = simulate(nodes=4, text=STAR + SEGMENTS, **big), simulate(nodes=4, text=STAR, **big)
    each = 20e-6 + 16384 * (1e-9 - 1e-10)
    assert segmented.seconds("C", "warm") - plain.seconds("C", "warm") == pytest.approx(3 * each, rel=0.05)
    assert 1e-6 < segmented.seconds("A", "warm") - plain.seconds("A", "warm") < 20e-6


RAILS = STAR + "rails = 2\n"


def test_each_rank_has_one_rail_and_all_of_a_node_share_them(simulate: Simulate, tmp_path: Path) -> None:
    def seconds(ranks_per_node: int, text: str) -> float:
        # blocks of 8 MB: the bytes are all that counts
        n = (2 * ranks_per_node) ** 2 * 1000
        return simulate(nodes=2, ranks_per_node=ranks_per_node, n=n, m=1000, text=text).seconds("C", "warm")

    assert seconds(1, RAILS) == pytest.approx(seconds(1, STAR), rel=0.01)
    # in rounds in which some ranks stay inside their node the others may share a rail
    assert 0.5 * seconds(4, STAR) <= seconds(4, RAILS) < 0.75 * seconds(4, STAR)
    cell = MeasuredCell(nodes=2, ranks_per_node=4, n=64000, m=1000, call="C", seconds=1, name="")
    fabric = fabric_of(tmp_path, RAILS)
    where = placed(fabric, cell)
    terms = terms_of(Exchange().traffic(where.parameters, cell.ranks)["C"], where, fabric)
    assert terms["injection"] == pytest.approx(16 * 8e6 / 20e9)


def test_each_rail_has_its_own_gap(simulate: Simulate) -> None:
    one, two = (simulate(nodes=4, text=text + GAP, **ABC).seconds("C", "warm") for text in (STAR, RAILS))
    assert 0.45 * one < two < 0.75 * one


BANDWIDTH = """
name = "bw"
kernel = "bandwidth"
[bandwidth]
patterns = ["inter-node"]
sizes = "64 B .. 256 KiB"
refine = 2
cache = "hot"
[[series]]
name = "pairs"
nodes = [2]
ranks_per_node = 8
"""


@pytest.mark.parametrize("limit", [4096, 32768])
def test_bandwidth_finds_and_names_the_fabrics_own_eager_limit(tmp_path: Path, programs: Programs, limit: int) -> None:
    text = STAR + f'overhead = "1 us"\neager_limit = "{limit} B"\nrendezvous_stall = "9 us"\n'
    fabric = fabric_of(tmp_path, text)
    folder = walked(tmp_path, BANDWIDTH, fabric, SimulatedLauncher(fabric, programs))
    (jump,) = [row for row in rows_of(folder, "change_overs") if row["kind"] == "jump"]
    assert jump["lower"] <= limit < jump["upper"]
    assert jump["knobs"] == ["network.eager_limit"]
    assert (jump["knob_value"], jump["eager_limit"]) == (limit, True)
