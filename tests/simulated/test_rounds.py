# SPDX-License-Identifier: BSD-3-Clause
"""All-to-alls in rounds stand beside SimGrid's, which stays the reference; rounds begin where its budget ends."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_cells import TARA
from walked import rows_of, walked

from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.plan.make import make_plan

pytestmark = pytest.mark.simulated
SIZES = """
name = "sizes"
kernel = "collective"
explain = false
[collective]
collectives = ["Alltoall", "Alltoallv"]
sizes = ["8 B", "512 B", "4 KiB", "64 KiB"]
algorithm = {algorithms}
[[series]]
name = "one"
nodes = {nodes}
ranks_per_node = 4
[measure]
launches = 1
"""
ABC = """
name = "abc"
kernel = "exchange"
explain = false
[exchange]
data = "contention"
calls = ["A", "B", "C"]
[[series]]
name = "one"
nodes = [9]
ranks_per_node = 8
n = 1492992
m = 64
[measure]
launches = 1
"""
TREE = 'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 2\nuplinks = 1\n'
MACHINE = """
name = "machine"
kind = "simulated"
[node]
names = "n[1-16]"
cores = 4
memory = "64 GiB"
preset = "epyc-7543p"
[network]
{network}
[simulation]
collectives = "{library}"
{more}
"""
MACHINES = {
    "mpich, two rails": ('preset = "slingshot-11"\nrails = 2\n' + TREE, "mpich", ""),
    "ompi, gap after bytes": (
        'preset = "roce-100"\nmessage_gap = "0.1 us"\n' + TREE, "ompi", 'gap = "bytes"\nlibrary_copies = true'
    ),
    "mvapich2, torus": (
        'preset = "fdr-infiniband"\ntopology = "torus"\n[network.torus]\ndimensions = [4, 4]\n', "mvapich2",
        'sharing = "equal"\nconnection_cost = "30 us"\nconnected_up_to = 4\ninside_cost = "0.3 us"',
    ),
}  # fmt: skip
NEAR = 0.03
MESSAGE_S = 2e-6
"""A message, overhead and latency: the skew with which ranks leave the barrier before a sample differs by so much."""


def both(place: Path, programs: Programs, fabric: str, study: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The samples of the same calls by actors and in rounds, in order."""
    found: list[list[dict[str, Any]]] = []
    for engine in ("ranks", "rounds"):
        (place / engine).mkdir()
        (place / "fabric.toml").write_text(fabric.replace("[simulation]\n", f'[simulation]\nengine = "{engine}"\n'))
        machine = load_fabric(place / "fabric.toml")
        rows = rows_of(walked(place / engine, study, machine, SimulatedLauncher(machine, programs)), "calls")
        assert {row["status"] for row in rows} == {"ok"}, [row["reason"] for row in rows]
        found.append(sorted(rows, key=lambda row: (row["phase"], row["cell"], row["call"])))
    by_actors = {(row["phase"], row["cell"], row["call"]): row for row in found[0]}
    return [(by_actors[row["phase"], row["cell"], row["call"]], row) for row in found[1]]


@pytest.mark.parametrize("name", MACHINES)
def test_rounds_take_as_long_as_actors(tmp_path: Path, programs: Programs, name: str) -> None:
    network, library, more = MACHINES[name]
    # three samples: Weft's MPI_Alltoallv agrees on its memory in the calls 1, 2, 4, ... of a launch
    fabric = MACHINE.format(network=network, library=library, more=more + "\nsamples = 3")
    own = ["flat.pairwise", "flat.window{w=3}", "flat.window{order=node-rotated}", "bruck{r=3}", "node.direct"]
    own += ["node.multi{nl=2,stages=4}", "node.bruck"]
    study = SIZES.format(algorithms=["default", *own], nodes=[3, 4])
    pairs = [(one, other) for one, other in both(tmp_path, programs, fabric, study) if other["phase"] == "warm"]
    assert len(pairs) == 2 * (8 * 2 * 4 + 2 * 8)
    for actors, rounds in pairs:
        compared = (actors["cell"], actors["call"], actors["algorithm"], actors["median_s"], rounds["median_s"])
        assert rounds["median_s"] == pytest.approx(actors["median_s"], rel=NEAR, abs=MESSAGE_S), compared
        assert rounds["algorithm"].removesuffix(" (rounds)") == actors["algorithm"]


@pytest.mark.parametrize("name", MACHINES)
def test_rounds_of_unequal_blocks_take_as_long_as_actors(tmp_path: Path, programs: Programs, name: str) -> None:
    network, library, more = MACHINES[name]
    fabric = MACHINE.format(network=network, library=library, more=more)
    study = SIZES.format(algorithms=["default", "flat.pairwise", "flat.window{w=3}"], nodes=[3, 4])
    study = study.replace('"Alltoall", ', "").replace('"64 KiB"]', '"64 KiB", "8 MiB"]')  # above a window's bytes
    study = study.replace("sizes =", 'patterns = ["linear", "heavy", "zipf"]\nskew = [4]\nsizes =')
    found = [(one, other) for one, other in both(tmp_path, programs, fabric, study) if other["phase"] == "warm"]
    pairs = [(one, other) for one, other in found if "@" in other["call"]]
    assert len(pairs) == 2 * 3 * 3 * 5
    for actors, rounds in pairs:
        compared = (actors["cell"], actors["call"], actors["algorithm"], actors["median_s"], rounds["median_s"])
        assert rounds["algorithm"].endswith("(rounds)"), compared
        assert rounds["median_s"] == pytest.approx(actors["median_s"], rel=NEAR, abs=MESSAGE_S), compared


def test_rounds_with_empty_blocks_take_as_long_as_actors(tmp_path: Path, programs: Programs) -> None:
    """One rank sends nothing, one receives nothing, others are silent here and there; more steps than ranks."""
    network, library, more = MACHINES["mpich, two rails"]
    weights = np.arange(144).reshape(12, 12) % 7
    weights[2], weights[:, 7] = 0, 0
    np.savetxt(tmp_path / "weights.txt", weights, fmt="%d")
    study = SIZES.format(algorithms=["default", "flat.pairwise", "flat.window{w=64,order=xor}"], nodes=[3])
    asked = f'patterns = ["matrix"]\nmatrix = "{tmp_path}/weights.txt"\nsizes = ["64 KiB", "12 MiB"]'
    study = study.replace('"Alltoall", ', "").replace('sizes = ["8 B", "512 B", "4 KiB", "64 KiB"]', asked)
    found = both(tmp_path, programs, MACHINE.format(network=network, library=library, more=more), study)
    pairs = [(one, other) for one, other in found if other["phase"] == "warm" and "@" in other["call"]]
    assert len(pairs) == 3 * 2
    for actors, rounds in pairs:
        assert rounds["algorithm"].endswith("(rounds)")
        assert rounds["median_s"] == pytest.approx(actors["median_s"], rel=NEAR, abs=MESSAGE_S), rounds["call"]


@pytest.mark.parametrize("order", ["block", "cyclic"])
def test_first_calls_and_connections_are_those_of_the_actors(tmp_path: Path, programs: Programs, order: str) -> None:
    study = ABC + f'[placement]\norder = "{order}"\n'
    pairs = both(tmp_path, programs, TARA, study)
    assert {(row["call"], row["phase"]) for _, row in pairs} == {
        (call, phase) for call in "ABC" for phase in ("cold", "warm")
    }
    for actors, rounds in pairs:
        assert rounds["median_s"] == pytest.approx(actors["median_s"], rel=NEAR), (actors["call"], actors["phase"])


def test_a_launch_over_the_budget_of_actors_is_computed_in_rounds_and_says_so(
    tmp_path: Path, programs: Programs
) -> None:
    (tmp_path / "fabric.toml").write_text(TARA + 'budget = "100 ms"\n')
    machine = load_fabric(tmp_path / "fabric.toml")
    folder = walked(tmp_path, ABC, machine, SimulatedLauncher(machine, programs))
    rows = rows_of(folder, "calls")
    assert {row["status"] for row in rows} == {"ok"}
    assert {row["algorithm"] for row in rows if row["phase"] == "cold"} == {"rdb (rounds)", "ring (rounds)"}
    plan = make_plan(load_study(tmp_path / "study.toml"), machine)
    assert not [note for note in plan.notes if "will have a bound" in note]


def test_half_the_rate_of_an_uplink_is_twice_the_time(tmp_path: Path, programs: Programs) -> None:
    """Not the agreement of two engines, but a number by hand: all blocks of 64 KiB cross one cable."""
    network = f'latency = "1 us"\nadapter_rate = "10 GB/s"\n{TREE}'
    times: list[float] = []
    for rate in (4.0, 2.0):
        place = tmp_path / str(rate)
        place.mkdir()
        text = MACHINE.format(network=f'{network}link_rate = "{rate} GB/s"', library="mpich", more='engine = "rounds"')
        (place / "fabric.toml").write_text(text.replace('preset = "epyc-7543p"', 'copy_rate = "80 GB/s"'))
        machine = load_fabric(place / "fabric.toml")
        study = SIZES.format(algorithms=["default"], nodes=[4]).replace('"Alltoall", ', "")
        rows = rows_of(walked(place, study, machine, SimulatedLauncher(machine, programs)), "calls")
        times += [row["median_s"] for row in rows if (row["call"], row["phase"]) == ("alltoallv@65536", "warm")]
    crossing_s = np.array([64 * 2**16 / 4e9, 64 * 2**16 / 2e9])  # 8 x 8 blocks, each way
    assert (np.array(times) >= crossing_s).all()
    assert times == pytest.approx(list(crossing_s), rel=0.25)
