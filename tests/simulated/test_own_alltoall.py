# SPDX-License-Identifier: BSD-3-Clause
"""Weft's own all-to-alls in the simulator: proven, charged for their copies, and told apart from the library's."""

import json
from pathlib import Path
from typing import Any

import pytest
from simulated_cells import TARA
from walked import rows_of, walked

from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.plan.stored import plan_of

pytestmark = pytest.mark.simulated
STUDY = """
name = "small"
kernel = "collective"
explain = false
[collective]
collectives = ["Alltoall", "Alltoallv"]
sizes = ["8 B", "4 KiB"]
algorithm = {algorithms}
{more}
[[series]]
name = "one"
nodes = 3
ranks_per_node = 4
[measure]
launches = 1
"""
OWN = [
    "flat.window{w=2}",
    "flat.pairwise",
    "bruck{r=3}",
    "node.multi{nl=2}",
    "node.direct",
    "node.bruck",
    "sched.matrix",
]
GAP = 'adapter_rate = "2.62 GB/s"\nmessage_gap = "2 us"'


def measured(place: Path, programs: Programs, fabric: str, algorithms: list[str], more: str = "") -> dict[Any, Any]:
    """The warm rows of calls, by algorithm asked for and call."""
    place.mkdir()
    (place / "fabric.toml").write_text(fabric)
    machine = load_fabric(place / "fabric.toml")
    text = STUDY.format(algorithms=algorithms, more=more)
    folder = walked(place, text, machine, SimulatedLauncher(machine, programs))
    asked = {cell.id: cell.parameters.get("algorithm", "") for cell in plan_of(folder).cells}
    rows = [row for row in rows_of(folder, "calls") if row["phase"] == "warm" and "@" in row["call"]]
    assert {row["status"] for row in rows} == {"ok"}, [row["reason"] for row in rows]
    return {(asked[row["cell"]], row["call"]): row for row in rows}


def test_every_algorithm_runs_in_the_simulator_and_is_named(tmp_path: Path, programs: Programs) -> None:
    rows = measured(tmp_path / "a", programs, TARA, ["default", *OWN])
    for spec in OWN:
        for call in ("alltoall@8", "alltoall@4096", "alltoallv@8", "alltoallv@4096"):
            name = "node.multi" if spec == "sched.matrix" else spec.partition("{")[0]  # such small even blocks
            assert rows[spec, call]["algorithm"] == name
    assert rows["default", "alltoall@8"]["algorithm"] not in {spec.partition("{")[0] for spec in OWN[3:]}


def test_one_message_a_pair_of_nodes_pays_where_messages_cost(tmp_path: Path, programs: Programs) -> None:
    """The adapter's gap rules 4 x 8 messages of a flat exchange, and 2 of node.multi."""
    fabric = TARA.replace('adapter_rate = "2.62 GB/s"', GAP)
    rows = measured(tmp_path / "a", programs, fabric, ["flat.pairwise", "node.multi{nl=4}"])
    flat, multi = (rows[spec, "alltoall@8"]["median_s"] for spec in ("flat.pairwise", "node.multi{nl=4}"))
    assert flat > 32 * 2e-6
    assert 2 * 2e-6 < multi < flat / 4


@pytest.mark.parametrize("spec", ["bruck{r=3}", "node.direct", "node.bruck"])
def test_the_last_copies_are_in_the_calls_time(tmp_path: Path, programs: Programs, spec: str) -> None:
    """What a rank took out of staging last was charged after the call: node.direct was a third too fast at 64 KiB."""
    rows = measured(tmp_path / "a", programs, TARA.replace("5.36 GB/s", "0.5 GB/s"), [spec])
    out_s, once_s = 4 * 12 * 4096 / 0.5e9, 4 * 4 * 4096 / 0.5e9  # of a node: all its blocks, those that stay
    assert rows[spec, "alltoall@4096"]["median_s"] > out_s + once_s


def test_stages_hide_copies_behind_messages(tmp_path: Path, programs: Programs) -> None:
    """A stream of 4 x 4 blocks of 4 KiB is four pieces: but for the first and the last, their copies cost nothing."""
    specs = ["node.multi{nl=1,stages=1}", "node.multi{nl=1,stages=8}"]
    rows = measured(tmp_path / "a", programs, TARA, specs)
    for call in ("alltoall@4096", "alltoallv@4096"):
        one, eight = (rows[spec, call]["median_s"] for spec in specs)
        assert eight < 0.9 * one
    small = [rows[spec, "alltoall@8"]["median_s"] for spec in specs]
    assert small[0] == pytest.approx(small[1], rel=0.02)  # nothing to cut into stages


def test_a_gap_after_the_bytes_adds_to_them(tmp_path: Path, programs: Programs) -> None:
    fabric = TARA.replace('adapter_rate = "2.62 GB/s"', GAP)
    after = fabric.replace("[simulation]", '[simulation]\ngap = "bytes"')
    call = ("flat.pairwise", "alltoall@4096")
    overlapping = measured(tmp_path / "a", programs, fabric, ["flat.pairwise"])[call]["median_s"]
    adding = measured(tmp_path / "b", programs, after, ["flat.pairwise"])[call]["median_s"]
    bytes_s, gaps_s = 32 * 4096 / 2.62e9, 32 * 2e-6
    assert overlapping < bytes_s + gaps_s < adding


def test_copies_of_the_librarys_own_algorithms_are_charged_where_the_fabric_says_so(
    tmp_path: Path, programs: Programs
) -> None:
    """Bruck's copies were free in SMPI, and ours are not."""
    slow = TARA.replace("5.36 GB/s", "0.5 GB/s")
    charged = slow.replace("[simulation]", "[simulation]\nlibrary_copies = true").replace("mvapich2", "mpich")
    call = ("default", "alltoall@8")
    without = measured(tmp_path / "a", programs, slow.replace("mvapich2", "mpich"), ["default"])
    with_them = measured(tmp_path / "b", programs, charged, ["default"])
    row = ("", "alltoall@8") if ("", "alltoall@8") in without else call
    assert without[row]["algorithm"] == with_them[row]["algorithm"] == "bruck"
    least = 4 * 2 * 64 * 2 / 0.5e9  # of one node: each rank rotates two parts, and packs
    assert with_them[row]["median_s"] > without[row]["median_s"] + least


def test_each_selector_of_smpi_is_measured_in_one_run(tmp_path: Path, programs: Programs) -> None:
    rows = measured(tmp_path / "a", programs, TARA, ["default"], 'algorithms = "each"')
    found = {asked: rows[asked, "alltoall@8"]["algorithm"] for asked, _ in rows}
    assert set(found) == {"default", "mvapich2", "mpich", "ompi", "impi"}
    assert found["default"] == found["mvapich2"]
    assert len(set(found.values())) > 1


def test_auto_takes_what_the_table_says_at_each_size(tmp_path: Path, programs: Programs) -> None:
    """The times are those of the table's algorithms; MPI_Alltoallv pays for the agreement on its size."""
    evidence = {"median_us": 1, "interval_us": [1, 1], "pmpi_us": 2, "n": 1}
    rules = [
        {"op": "*", "nodes": [3, 3], "bytes": [1, 64], "algorithm": "node.multi{nl=2}", "evidence": evidence},
        {"op": "alltoall", "p": [13, 99], "algorithm": "bruck{r=3}", "evidence": evidence},
    ]
    (tmp_path / "table.json").write_text(json.dumps({"schema": "weft-tuning/1", "rules": rules}))
    more = f'table = "{tmp_path / "table.json"}"'
    fabric = TARA.replace('adapter_rate = "2.62 GB/s"', GAP)
    rows = measured(tmp_path / "a", programs, fabric, ["default", "auto", "node.multi{nl=2}"], more)
    seconds = {key: row["median_s"] for key, row in rows.items()}
    assert seconds["auto", "alltoall@8"] == pytest.approx(seconds["node.multi{nl=2}", "alltoall@8"], rel=0.02)
    assert seconds["auto", "alltoall@4096"] == pytest.approx(seconds["default", "alltoall@4096"], rel=0.02)
    agreed = seconds["auto", "alltoallv@8"] - seconds["node.multi{nl=2}", "alltoallv@8"]
    assert 0 < agreed < seconds["default", "alltoallv@8"]
