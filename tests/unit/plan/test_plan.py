# SPDX-License-Identifier: BSD-3-Clause
"""Working studies out on fabrics."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import DataError, FabricError, StudyError
from weft.fabric import Fabric, load_fabric
from weft.host import Host, Limit
from weft.kernel.budget import ROOM
from weft.kernel.floor import copy_sizes
from weft.kernel.registry import kernel_named
from weft.kernel.studies import load_study, make_study
from weft.plan.make import make_plan
from weft.plan.records import Cell, Plan
from weft.plan.stored import parse_plan
from weft.plan.wire import Rules, copies_beside, flat_plan
from weft.study import Study
from weft.units import parse_bytes

GIB = 2**30
HOST = Host("here", 2, 23 * GIB, (Limit(20 * GIB, "MemAvailable"),))
FLAT = """\
weft-plan 2
launch c001.l2
launch_index 2
run 0123abcd
seed 7
folder /tmp/run
io mpi
start barrier
precision 0.05
min_samples 10
max_samples 1000
warmup_most 50
budget_ns 5000000000
limit_ns 120000000000
memory_limit_bytes 0
cell c001
kernel exchange
hash {hash}
n 64
m 4
data contention
calls A B C
explain 1
copies 16384
end
"""


def study(series: dict[str, Any] | list[dict[str, Any]] | None = None, **sections: Any) -> Study:
    one = {"name": "one", "nodes": [1], "ranks_per_node": [1, 2], "n": 64, "m": "2 * p"}
    chosen = series if isinstance(series, list) else [{**one, **(series or {})}]
    tree = {"name": "s", "kernel": "exchange", "measure": {"seed": 7}, "series": chosen, **sections}
    return make_study({key: value for key, value in tree.items() if value is not None}, "s.toml")


def cluster(nodes: int = 4, cores: int = 2, **node: Any) -> Fabric:
    return Fabric.model_validate(
        {
            "name": "cluster",
            "kind": "virtual",
            "node": {"names": f"n[1-{nodes}]", "cores": cores, "memory": "4 GiB", "copy_rate": "5 GB/s", **node},
            "network": {"topology": "star", "adapter_rate": "1 GB/s", "latency": "1 us"},
        }
    )


def local(**node: Any) -> Fabric:
    return Fabric.model_validate({"name": "local", "kind": "local", "node": {"copy_rate": "5 GB/s", **node}})


def plan(what: Study | None = None, where: Fabric | None = None) -> Plan:
    return make_plan(what or study(), where or local(), host=HOST)


def shapes(cells: tuple[Cell, ...]) -> list[tuple[int, int]]:
    return [(cell.nodes, cell.ranks_per_node) for cell in cells]


def test_cells_come_in_the_order_of_the_study() -> None:
    found = plan()
    assert [cell.id for cell in found.measured] == ["c000", "c001"]
    assert [cell.parameters["m"] for cell in found.measured] == [2, 4]
    assert found.measured[1].block_bytes == 64 * 4 * 8 // 4


def test_a_floor_is_planned_for_each_placement_that_is_launched() -> None:
    series = {"nodes": [1, 2, 8], "ranks_per_node": [1, 2], "n": 256}
    found = plan(study(series), cluster())
    assert shapes(found.floors) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert [cell.id for cell in found.floors] == ["f000", "f001", "f002", "f003"]


def test_each_round_measures_each_floor_last_in_a_launch_of_its_placement_and_starts_no_ranks_for_it() -> None:
    found = plan(study({"nodes": [1, 2], "ranks_per_node": [1, 2], "n": 256, "m": [2, 4]}), cluster())
    kept: dict[str, set[str]] = {}
    for launch in found.launches:
        floors = [name for name in launch.cells if name.startswith("f")]
        assert list(launch.cells[-len(floors) :]) == floors or not floors
        assert launch.cells[0].startswith("c")
        for name in floors:
            assert (found.cell(name).hosts, found.cell(name).ranks) == (launch.hosts, launch.ranks)
            kept.setdefault(name, set()).add(launch.id.partition(".")[0])
    every = sorted(name for launch in found.launches for name in launch.cells if name.startswith("f"))
    assert every == sorted([f"f00{k}" for k in range(4)] * found.measure.launches)
    assert all(len(hosts) == 2 for hosts in kept.values())  # another launch each round, of the two of its placement


def test_a_floor_copies_what_its_cells_keep_in_a_node_and_octaves_up_to_it() -> None:
    found = plan(study({"nodes": [1], "ranks_per_node": [2], "n": 6400, "m": [3, 5]}))
    (floor,) = found.floors
    copies = floor.parameters["copies"]
    kept = {6400 * m * 8 // 2 for m in (3, 5)}  # each rank sends all it has to ranks of its node, itself included
    assert kept < set(copies)
    assert {16384, 32768, 65536} < set(copies)
    assert max(copies) == max(kept)
    assert copies == sorted(copies)


def test_the_time_of_a_floor_counts_the_tries_of_each_way_to_copy_an_octave() -> None:
    """The ways that lose a size's race were not in the predicted time."""
    floor, shape = kernel_named("floor"), {"copies": [262_144, 524_288, 1_048_576, 4_194_304, 67_108_864]}
    expected = [4.4 * 262144e-9, 5.6 * 524288e-9, 5.84 * 1048576e-9, 2.96 * 4194304e-9, 2.48 * 67108864e-9]
    assert floor.unbounded_s(shape, 2, 1e9) == pytest.approx(expected)


def test_a_floor_takes_no_more_than_a_quarter_of_the_memory() -> None:
    assert copy_sizes([10**9], 10**6)[-1] == 10**6
    assert copy_sizes([10**9, 20_000], 10**6)[:2] == [16384, 20_000]
    assert copy_sizes([]) == [16384]
    assert copy_sizes([3 * 10**9])[-1] == 256 * 2**20  # beyond, every copy has the rate of memory


def test_identical_cells_of_two_series_are_one_cell_of_both() -> None:
    one = {"name": "one", "nodes": [1], "ranks_per_node": [1, 2], "n": 64, "m": 2}
    found = plan(study([one, {**one, "name": "two", "m": "2 * p"}]))
    assert [cell.series for cell in found.measured] == [("one", "two"), ("one",), ("two",)]


def test_each_round_of_launches_has_an_order_of_its_own_from_the_seed() -> None:
    what = study({"ranks_per_node": [1, 2, 4, 8], "n": 64}, placement={"oversubscribe": True})
    found = plan(what)
    measured = [launch for launch in found.launches if launch.cells[0].startswith("c")]
    rounds = [[launch.cells[0] for launch in measured if launch.index == k] for k in (1, 2, 3)]
    assert all(sorted(each) == ["c000", "c001", "c002", "c003"] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    assert plan(what).launches == found.launches
    other = study({"ranks_per_node": [1, 2, 4, 8], "n": 64}, placement={"oversubscribe": True}, measure={"seed": 8})
    assert plan(other).launches != found.launches


def test_a_seed_that_the_study_does_not_give_is_drawn_and_recorded() -> None:
    found = plan(study(measure={}))
    assert found.measure.seed == found.seed
    assert any(f"seed {found.seed} was drawn" in note for note in found.notes)


def test_n_that_p_squared_does_not_divide_names_the_nearest_that_it_does() -> None:
    with pytest.raises(StudyError) as caught:
        plan(study({"n": 100, "ranks_per_node": [1, 3, 4]}))
    assert "series.0.n = 100 is not divisible by p^2 = 9 at N = 1, p = 3" in caught.value.what
    assert "nearest n for p = 3: 99; for every p of the series: 144" in caught.value.remedy


@pytest.mark.parametrize("wanted", ["1 MiB", "1000 KiB", "1001 KiB"])
def test_automatic_n_is_the_multiple_nearest_to_the_array_wanted(wanted: str) -> None:
    found = plan(study({"n": "auto", "array": wanted, "m": 16, "ranks_per_node": [1, 3]}))
    n = found.measured[0].parameters["n"]
    assert n % 9 == 0
    assert abs(n * 128 - parse_bytes(wanted)) <= 9 * 128 / 2


def test_automatic_n_takes_a_share_of_a_nodes_memory_up_to_the_most() -> None:
    share = plan(study({"n": "auto", "array": "0.1 %", "m": 1}), cluster()).measured[0].array_bytes
    assert share == pytest.approx(4 * GIB / 1000, rel=1e-3)
    most = plan(study({"n": "auto", "array": "50 %", "array_most": "1 MiB", "m": 1}), cluster()).measured[0].array_bytes
    assert most == 2**20


def test_automatic_n_that_has_to_exceed_what_was_wanted_says_so() -> None:
    found = plan(study({"n": "auto", "array": "1 KiB", "m": 16, "ranks_per_node": 2, "nodes": [4]}), cluster())
    assert found.measured[0].parameters["n"] == 64
    assert "n = 64 is the smallest that p^2 divides" in found.notes[0]


def test_a_share_of_unknown_memory_is_refused() -> None:
    with pytest.raises(FabricError, match=r"node.memory is missing"):
        make_plan(study({"n": "auto", "array": "1 %"}), local(), host=Host("here", 2, 0, ()))


def test_a_sort_takes_any_n() -> None:
    found = plan(study({"n": 101}, exchange={"data": "uniform"}))
    assert found.measured[1].parameters["n"] == 101
    assert set(found.measured[1].bounds) == {"A", "C", "total"}


def test_on_one_node_fill_sweeps_ranks_to_twice_the_cores() -> None:
    found = plan(study({"nodes": "1..nodes", "ranks_per_node": "fill", "n": 144}), local(cores=6))
    assert shapes(found.measured)[:4] == [(1, 1), (1, 2), (1, 4), (1, 6)]
    assert shapes(found.measured)[4:] == [(1, 12)]
    assert [cell.oversubscribed for cell in found.measured] == [False, False, False, False, True]
    assert {cell.status for cell in found.measured} == {"planned"}


def test_on_several_nodes_fill_takes_all_cores_of_each() -> None:
    found = plan(study({"nodes": "1..nodes", "ranks_per_node": "fill", "n": 64}), cluster(5))
    assert shapes(found.measured) == [(1, 2), (2, 2), (4, 2)]


def test_what_a_fabric_is_too_small_for_is_a_row_with_a_reason() -> None:
    found = plan(study({"nodes": [4, 8], "ranks_per_node": 2, "n": 256}), cluster())
    assert [cell.status for cell in found.measured] == ["planned", "fabric"]
    assert found.measured[1].reason == "8 nodes asked for, fabric cluster has 4"
    assert found.measured[1].hosts == ()
    assert {launch.cells for launch in found.launches} == {("c000", "f000")}


def test_more_ranks_than_cores_is_a_row_unless_it_is_meant() -> None:
    series = {"ranks_per_node": 4, "n": 64}
    refused = plan(study(series)).measured[0]
    assert (refused.status, refused.reason) == (
        "fabric",
        "4 ranks a node on 2 cores; placement.oversubscribe = true would run them",
    )
    meant = plan(study(series, placement={"oversubscribe": True})).measured[0]
    assert meant.status == "planned"
    assert meant.oversubscribed


def test_a_cell_that_does_not_fit_is_a_row_with_its_formula() -> None:
    found = plan(study({"n": 2**24, "m": "100 * p", "ranks_per_node": [1]}))
    cell = found.measured[0]
    assert cell.status == "memory"
    assert "unsorted 12.5 GiB + sorted 12.5 GiB" in cell.reason
    assert "20 GiB available (MemAvailable)" in cell.reason
    assert found.launches == ()


def test_s_grows_with_the_ranks_of_a_series_whether_nodes_or_ranks_are_added() -> None:
    within = plan(study({"m": "16 * s", "ranks_per_node": [1, 2]}))
    across = plan(study({"m": "16 * s", "nodes": [1, 2, 4], "ranks_per_node": 2, "n": 64}), cluster())
    assert [cell.parameters["m"] for cell in within.measured] == [16, 32]
    assert [cell.parameters["m"] for cell in across.measured] == [16, 32, 64]
    with pytest.raises(StudyError, match=r'"16 \* s / 64" is 0.25 for N = 1, p = 1, r = 1, s = 1'):
        plan(study({"m": "16 * s / 64"}))


def test_an_m_that_is_no_whole_number_names_series_and_cell() -> None:
    with pytest.raises(StudyError, match=r'series.0.m: "p / 2" is 0.5 for N = 1, p = 1'):
        plan(study({"m": "p / 2"}))
    with pytest.raises(StudyError, match=r'"p - 1" is 0 for N = 1, p = 1'):
        plan(study({"m": "p - 1"}))


def test_a_usual_copy_rate_is_assumed_only_where_none_is_stated_and_it_is_said() -> None:
    silent = make_plan(study(), local(), host=HOST)
    assert not any("copy rate" in note for note in silent.notes)
    unstated = Fabric.model_validate({"name": "l", "kind": "local"})
    said = make_plan(study(), unstated, host=HOST)
    assert any("assume a copy rate of 8 GB/s" in note for note in said.notes)
    assert said.measured[0].bound
    assert make_plan(study(), unstated, host=HOST, predict=False).measured[0].bound is None


def test_limits_that_the_kernel_cannot_see_go_into_its_plan() -> None:
    assert plan().memory_limit_bytes == 0
    assert plan(where=cluster()).memory_limit_bytes == 4 * GIB
    scheduled = Host("here", 2, 23 * GIB, (Limit(20 * GIB, "MemAvailable"), Limit(GIB, "SLURM_MEM_PER_NODE")))
    assert make_plan(study(), local(), host=scheduled).memory_limit_bytes == GIB


def test_the_flat_plan_is_what_the_kernel_reads(tmp_path: Path) -> None:
    found = plan(study({"ranks_per_node": [1, 2]}))
    launch = next(launch for launch in found.launches if launch.id == "c001.l2")
    text = flat_plan(found, launch, tmp_path, run="0123abcd", cells=["c001"]).replace(str(tmp_path), "/tmp/run")
    assert text == FLAT.format(hash=found.cell("c001").hash)
    assert "io posix\n" in flat_plan(found, launch, tmp_path, rules=Rules(io="posix"))


def test_the_flat_plan_of_a_floor_names_the_sizes_it_copies() -> None:
    found = plan()
    floor = found.cell("f000")
    launch = next(launch for launch in found.launches if launch.cells[-1] == "f000")
    copies = " ".join(map(str, floor.parameters["copies"]))
    assert flat_plan(found, launch).endswith(f"kernel floor\nhash {floor.hash}\ncopies {copies}\nend\n")


def test_the_flat_plan_may_leave_out_cells_that_are_done() -> None:
    found = plan()
    assert "cell " not in flat_plan(found, found.launches[-1], cells=())


def test_a_file_of_keys_is_named_by_its_absolute_path(tmp_path: Path) -> None:
    text = (
        'name = "f"\nkernel = "exchange"\n[exchange]\ndata = "file"\nfile = "keys.npy"\n'
        '[[series]]\nname = "one"\nnodes = [1]\nranks_per_node = 1\nn = 10\n'
    )
    (tmp_path / "f.toml").write_text(text)
    found = plan(load_study(tmp_path / "f.toml"))
    launch = next(launch for launch in found.launches if launch.cells[0] == "c000")
    assert f"data file\nfile {tmp_path}/keys.npy\n" in flat_plan(found, launch)


def test_a_plan_survives_being_written_and_read() -> None:
    found = make_plan(load_study("contention"), load_fabric("tara"), host=HOST)
    assert Plan.model_validate_json(found.model_dump_json()) == found
    assert '"schema":"weft-plan/1"' in found.model_dump_json()


def test_a_launch_knows_its_placement_and_its_limit() -> None:
    placement = {"nodes": "n[3-4]", "order": "cyclic"}
    found = plan(study({"nodes": [2], "ranks_per_node": 2}, placement=placement), cluster())
    launch = found.launches[-1]
    assert (launch.hosts, launch.ranks, launch.order) == (("n3", "n4"), 4, "cyclic")
    assert launch.limit_s > found.measured[0].limit_s


def test_a_limit_counts_the_copies_and_latencies_that_a_cell_measures_beside_its_calls() -> None:
    """A cell whose calls used their budgets was ended as hung while it measured the rates behind its bounds."""
    found = plan(study(measure={"seed": 7, "budget": "100 s"}))
    cell = next(each for each in found.measured if each.ranks > 1)
    own = kernel_named(cell.kernel).budgets(cell.parameters, cell.ranks)
    warm_ups = (len(copies_beside(found, cell.requested)) + 2) / 5
    assert warm_ups > 0.5
    assert cell.limit_s >= ROOM * (own + warm_ups) * 100


def test_the_contention_study_fits_two_minutes_on_two_cores() -> None:
    found = make_plan(load_study("contention"), local(copy_rate="5 GB/s"), host=HOST)
    assert [cell.ranks for cell in found.measured] == [1, 2, 4, 2, 4]
    assert found.measured[0].series == ("constant-global", "constant-local")
    assert {cell.local_bytes for cell in found.measured if "constant-local" in cell.series} == {64 * 2**20}
    assert {cell.array_bytes for cell in found.measured if "constant-global" in cell.series} == {64 * 2**20}
    assert found.expected_s < 120  # with the breakdowns, with the floors of every round


@pytest.mark.parametrize(("nodes", "cores"), [(1, 1), (1, 6), (1, 96), (4, 2), (100, 64), (576, 8)])
def test_the_contention_study_plans_on_any_machine(nodes: int, cores: int) -> None:
    where = cluster(nodes, cores, memory="256 GiB") if nodes > 1 else local(cores=cores, memory="256 GiB")
    host = Host("here", cores, 256 * GIB, (Limit(250 * GIB, "MemAvailable"),))
    found = make_plan(load_study("contention"), where, host=host)
    assert {cell.status for cell in found.measured} == {"planned"}
    for cell in found.measured:
        assert cell.parameters["n"] % cell.ranks**2 == 0


def test_a_budget_as_long_as_the_default_limit_makes_a_plan_that_is_read_again() -> None:
    """The plan stated the default limit of 120 s, and was refused: no room for a budget of 120 s."""
    made = plan(study(measure={"seed": 7, "budget": "120 s"}))
    again = parse_plan(Path("plan.json"), made.model_dump_json().encode())
    assert again == made
    assert "limit" not in again.measure.model_fields_set
    assert all(cell.limit_s > 120 for cell in again.cells)
    stated = plan(study(measure={"seed": 7, "budget": "120 s", "limit": "300 s"}))
    assert parse_plan(Path("plan.json"), stated.model_dump_json().encode()).measure.limit == 300


def with_copies(copies: object) -> bytes:
    stored = json.loads(plan(study()).model_dump_json())
    for floor in (cell for cell in stored["cells"] if cell["kernel"] == "floor"):
        floor["parameters"] = {} if copies is None else {"copies": copies}
    return json.dumps(stored).encode()


@pytest.mark.parametrize("copies", [[], ["16 KiB"], 7])
def test_a_stored_plan_whose_floor_spoils_its_copies_is_refused(copies: object) -> None:
    with pytest.raises(DataError, match="lack or spoil"):
        parse_plan(Path("plan.json"), with_copies(copies))


def test_a_plan_of_an_earlier_version_whose_floors_have_no_copies_is_read_and_not_measured() -> None:
    """The kept runs are of such a version: none of them could be shown any more."""
    found = parse_plan(Path("plan.json"), with_copies(None))
    launch = next(each for each in found.launches if any(cell.startswith("f") for cell in each.cells))
    with pytest.raises(DataError, match="cannot be measured by this version"):
        flat_plan(found, launch)
