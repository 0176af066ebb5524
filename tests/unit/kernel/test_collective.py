# SPDX-License-Identifier: BSD-3-Clause
"""Working studies of collective calls out: cells, teams, sizes, memory, launches, flat plans."""

from pathlib import Path
from typing import Any

import pytest

from weft.errors import StudyError
from weft.fabric import Fabric
from weft.host import Host, Limit
from weft.kernel import Shape, Sweep
from weft.kernel.collective.study import with_threads
from weft.kernel.registry import kernel_named
from weft.kernel.studies import make_study
from weft.kernel.traffic import made_weights
from weft.mpi.algorithms import progress_thread
from weft.plan.make import make_plan
from weft.plan.records import Cell, Plan
from weft.plan.wire import flat_plan
from weft.study import Study

GIB = 2**30
HOST = Host("here", 4, 23 * GIB, (Limit(20 * GIB, "MemAvailable"),))
OMPI = "Open MPI v5.0.11, package: made"
FLAT = """\
cell c000
kernel collective
hash {hash}
ranks 4
collective bcast
form plain
bytes 8 64
refine 2
root -1
copies 16384
end
"""


def study(series: dict[str, Any] | None = None, measure: dict[str, Any] | None = None, **section: Any) -> Study:
    one = {"name": "one", "nodes": [2], "ranks_per_node": 4, **(series or {})}
    chosen = {"collectives": ["Bcast"], "sizes": ["8 B", "64 B"], **section}
    tree = {"name": "s", "kernel": "collective", "measure": {"seed": 7, **(measure or {})}}
    return make_study({**tree, "collective": chosen, "series": [one]}, "s.toml")


def cluster(nodes: int = 4, cores: int = 4) -> Fabric:
    node = {"names": f"n[1-{nodes}]", "cores": cores, "memory": "4 GiB", "copy_rate": "5 GB/s"}
    network = {"topology": "star", "adapter_rate": "1 GB/s", "latency": "1 us"}
    return Fabric.model_validate({"name": "cluster", "kind": "slurm", "node": node, "network": network})


def plan(what: Study | None = None, where: Fabric | None = None, library: str = "") -> Plan:
    return make_plan(what or study(), where or cluster(), host=HOST, library=library)


def calls(found: Plan) -> list[tuple[str, int]]:
    return [(cell.parameters["collective"], cell.ranks) for cell in found.measured]


def test_each_call_is_measured_at_each_shape_and_process_count() -> None:
    found = plan(study({"nodes": [1, 2], "processes": "2..p"}, collectives=["Bcast", "MPI_Alltoall"]))
    one_node = [("bcast", 2), ("alltoall", 2), ("bcast", 4), ("alltoall", 4)]
    assert calls(found) == [*one_node, *one_node, ("bcast", 8), ("alltoall", 8)]


def test_all_process_counts_of_a_placement_share_one_launch() -> None:
    found = plan(study({"processes": "2..p"}))
    measured = [launch for launch in found.launches if launch.id.startswith("g")]
    assert {(launch.nodes, launch.ranks_per_node, launch.ranks) for launch in measured} == {(2, 4, 8)}
    assert len(measured) == found.measure.launches
    assert all(sorted(launch.cells[:3]) == ["c000", "c001", "c002"] for launch in measured)


def test_a_part_of_the_ranks_is_described_as_what_it_is() -> None:
    two, four, eight = plan(study({"processes": "2..p"})).measured
    assert (two.nodes, two.ranks_per_node, two.ranks, two.hosts) == (1, 2, 2, ("n1",))
    assert (four.nodes, four.ranks_per_node, four.hosts) == (1, 4, ("n1",))
    assert (eight.nodes, eight.hosts, eight.job) == (2, ("n1", "n2"), None)
    assert two.parameters["ranks"] == 2
    assert "ranks" not in eight.parameters
    assert two.launched.hosts == ("n1", "n2")
    assert two.bound is not None
    assert two.bound.name == "memory copy"
    assert eight.bound is not None
    assert eight.bound.name in ("latency", "injection")


def test_a_part_that_does_not_fill_its_nodes_knows_how_many_it_has_on_each() -> None:
    (cell,) = plan(study({"processes": [6]}, collectives=["Alltoall"], sizes=["1 MiB"])).measured
    assert cell.parameters["node_ranks"] == [4, 2]
    assert cell.bounds["alltoall@1048576"].terms["injection"] == pytest.approx(4 * 2 * 2**20 / 1e9)


def test_the_floors_of_all_parts_are_measured_in_one_launch() -> None:
    found = plan(study({"processes": "2..p"}))
    assert [(cell.nodes, cell.ranks_per_node) for cell in found.floors] == [(1, 2), (1, 4), (2, 4)]
    floors = found.launches
    assert [launch.id for launch in floors] == [f"g000.l{index}" for index in range(1, found.measure.launches + 1)]
    assert {(launch.cells[-3:], launch.ranks) for launch in floors} == {(("f000", "f001", "f002"), 8)}
    assert f"cell f000\nkernel floor\nhash {found.cell('f000').hash}\nranks 2\ncopies " in flat_plan(
        found, floors[0], "/tmp/run"
    )


def test_counts_over_the_ranks_there_are_become_a_note() -> None:
    found = plan(study({"processes": [4, 64]}))
    assert calls(found) == [("bcast", 4)]
    assert "series one: 64 processes are more than the 8 of 2 nodes" in found.notes


def test_the_flat_plan_names_the_team_and_the_sweep() -> None:
    found = plan(study({"processes": [4]}, refine=2))
    launch = next(launch for launch in found.launches if launch.id == "g000.l1")
    assert flat_plan(found, launch, "/tmp/run", cells=["c000"]).endswith(FLAT.format(hash=found.cell("c000").hash))


def test_sizes_that_are_no_whole_doubles_are_left_out_of_sums_and_of_derived_types() -> None:
    what = study(collectives=["Allreduce", "Alltoall"], forms=["plain", "vector"], sizes="1 B .. 32 B")
    found = plan(what)
    sizes = {
        (cell.parameters["collective"], cell.parameters["form"]): cell.parameters["bytes"] for cell in found.measured
    }
    assert sizes == {
        ("allreduce", "plain"): [8, 16, 32],
        ("alltoall", "plain"): [1, 2, 4, 8, 16, 32],
        ("alltoall", "vector"): [8, 16, 32],
    }
    assert "allreduce vector: MPI_SUM takes no derived datatype" in found.notes
    with pytest.raises(StudyError, match="leaves none for allreduce"):
        plan(study(collectives=["Allreduce"], sizes=["4 B"]))


def test_forms_that_mpi_does_not_have_are_notes() -> None:
    what = study(collectives=["Bcast", "Alltoallv"], forms=["inplace"], patterns=["equal", "linear"])
    found = plan(what)
    assert [cell.parameters.get("pattern") for cell in found.measured] == ["equal"]
    assert any("bcast inplace" in note for note in found.notes)
    assert any("alltoallv inplace: in place the counts" in note for note in found.notes)


def test_operations_are_named_after_call_pattern_form_and_size() -> None:
    what = study(collectives=["Alltoallv"], forms=["vector"], patterns=["heavy"])
    assert list(plan(what).measured[0].bounds) == ["alltoallv-heavy-vector@8", "alltoallv-heavy-vector@64"]


def test_sizes_over_the_memory_wanted_are_left_out() -> None:
    what = study(collectives=["Alltoall", "Bcast"], sizes="1 KiB .. 8 KiB", memory_most="16 KiB")
    assert [cell.parameters["bytes"][-1] for cell in plan(what).measured] == [2048, 8192]


@pytest.mark.parametrize(
    ("collective", "form", "sent", "received"),
    [
        ("Bcast", "plain", 1, 1),
        ("Alltoall", "plain", 8, 8),
        ("Scatter", "plain", 8, 1),
        ("Gather", "plain", 1, 8),
        ("Allgather", "inplace", 1, 8),
        ("Allreduce", "plain", 1, 1),
        ("Reduce_scatter", "plain", 8, 1),
        ("Reduce_scatter", "inplace", 8, 8),
        ("Alltoall", "vector", 16, 16),
    ],
)
def test_memory_counts_the_blocks_that_a_rank_has(collective: str, form: str, sent: int, received: int) -> None:
    (cell,) = plan(study(collectives=[collective], forms=[form], sizes=["1 MiB"])).measured
    assert f"send {sent} MiB + receive {received} MiB" in cell.memory.formula


def test_what_does_not_fit_is_a_row() -> None:
    (cell,) = plan(study(collectives=["Alltoall"], sizes=["1 GiB"])).measured
    assert cell.status == "memory"
    assert "needs 64.1 GiB a node" in cell.reason


def test_a_limit_too_short_for_the_sizes_is_refused_with_one_that_is_not() -> None:
    with pytest.raises(StudyError) as caught:
        plan(study(measure={"budget": "10 s", "limit": "30 s"}))
    assert "too short for 3 operations" in caught.value.what
    assert 'limit = "36 s"' in caught.value.remedy


def test_without_a_limit_a_sweep_gets_the_one_that_its_budgets_need() -> None:
    """22 sizes of 5 s each, the barrier and the floor may take 150 s: the default of 120 s refused what takes 8 s."""
    (cell,) = plan(study(collectives=["Bcast"], sizes="1 B .. 2 MiB")).measured
    assert cell.limit_s == pytest.approx(1.2 * 25 * 5)
    few = plan(study(collectives=["Bcast"], sizes=["8 B"]))
    assert few.measured[0].limit_s == 120
    floor = few.floors[0]
    assert floor.limit_s >= 1.2 * 5 * len(floor.parameters["copies"])
    slow = plan(study(collectives=["Bcast"], sizes=["8 B"], measure={"budget": "200 s"}))
    assert slow.measured[0].limit_s == pytest.approx(1.2 * 4 * 200)
    assert slow.launches[0].limit_s >= slow.measured[0].limit_s


def test_a_root_must_be_a_rank_of_every_team() -> None:
    assert plan(study(root=3)).measured[0].parameters["root"] == 3
    with pytest.raises(StudyError, match="root = 3 is not one of the 2 ranks"):
        plan(study({"processes": "2..p"}, root=3))


def test_a_traffic_matrix_belongs_to_one_number_of_ranks(tmp_path: Path) -> None:
    matrix = tmp_path / "traffic.txt"
    matrix.write_text("0 1\n2 3\n")
    section: dict[str, Any] = {"collectives": ["Alltoallv"], "patterns": ["matrix"], "matrix": str(matrix)}
    found = plan(study({"processes": [2]}, **section))
    assert "weights 0 1 2 3\n" in flat_plan(found, found.launches[-1], "/tmp/run")
    with pytest.raises(StudyError, match="has 2 rows, and a cell has 8 ranks"):
        plan(study(**section))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"collectives": ["Scan"]}, "different ones of Bcast"),
        ({"collectives": ["Bcast", "bcast"]}, "different ones"),
        ({"patterns": ["linear"]}, "patterns are those of Alltoallv"),
        ({"collectives": ["Alltoallv"], "patterns": ["matrix"]}, "go together"),
        ({"sizes": ["0 B", "8 B"]}, "sizes start at 1 B"),
        ({"root": "last"}, "rotating"),
        ({"forms": ["plain", "plain"]}, "one word twice"),
    ],
)
def test_sections_that_cannot_be_are_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(StudyError, match=why):
        study(**section)


def settings(cells: tuple[Cell, ...]) -> list[str]:
    return [cell.parameters["algorithm"] for cell in cells]


def test_each_algorithm_is_a_cell_in_launches_of_its_own() -> None:
    found = plan(study(collectives=["Alltoall"], algorithms="each"), library=OMPI)
    assert settings(found.measured) == ["default", "linear", "pairwise", "modified_bruck", "linear_sync"]
    first = [launch for launch in found.launches if launch.index == 1 and launch.id.startswith("g")]
    assert sorted(launch.id for launch in first) == ["g000.l1", "g001.l1", "g002.l1", "g003.l1", "g004.l1"]
    by_id = {launch.id: launch for launch in first}
    assert by_id["g000.l1"].settings == {}
    assert by_id["g002.l1"].settings["OMPI_MCA_coll_tuned_alltoall_algorithm"] == "2"
    assert all(launch.settings == {} for launch in found.launches if launch.id.startswith("f"))


def test_algorithms_for_two_ranks_only_are_tried_with_two_ranks_only() -> None:
    found = plan(study({"processes": [2, 8]}, collectives=["Alltoall"], algorithms="each"), library=OMPI)
    assert "two_proc" in settings(tuple(cell for cell in found.measured if cell.ranks == 2))
    assert "two_proc" not in settings(tuple(cell for cell in found.measured if cell.ranks == 8))


def test_without_a_library_that_can_be_told_only_its_own_choice_is_planned() -> None:
    unknown = plan(study(algorithms="each"))
    assert settings(unknown.measured) == ["default"]
    assert any("weft run adds those of the library" in note for note in unknown.notes)
    simulated = plan(study(collectives=["Alltoall"], algorithms="each"), library="SMPI 3.32")
    told = {cell.parameters["algorithm"]: cell.parameters["setting"] for cell in simulated.measured}
    assert told["ompi"] == {"WEFT_SMPI_ALLTOALL": "ompi"}
    assert set(told) == {"default", "mvapich2", "mpich", "ompi", "impi"}
    other = plan(study(collectives=["Bcast"], algorithms="each"), library="SMPI 3.32")
    assert any("SMPI 3.32 has no option for others" in note for note in other.notes)


def test_each_listed_algorithm_of_weft_is_a_cell_in_the_same_launch() -> None:
    found = plan(study(collectives=["Alltoall", "Bcast"], algorithm=["default", "node.multi{nl=2}"]), library=OMPI)
    swept = found.measured
    listed = [(cell.parameters["collective"], cell.parameters["algorithm"]) for cell in swept]
    assert sorted(set(listed)) == [("alltoall", "default"), ("alltoall", "node.multi{nl=2}"), ("bcast", "default")]
    one = next(launch for launch in found.launches if swept[0].id in launch.cells)
    assert {cell.id for cell in swept if cell.ranks == swept[0].ranks} <= set(one.cells), "interleaved in one launch"
    flat = [kernel_named("collective").flat(cell.parameters).get("algorithm") for cell in swept]
    assert set(flat) == {None, "node.multi{nl=2}"}, "the library's own algorithms are no business of the kernel"


def test_an_overlap_is_planned_once_more_with_the_progress_thread_of_the_library() -> None:
    cell = plan(study(collectives=["Bcast", "Alltoall"], overlap=True)).measured[1]
    values = {key: cell.parameters.get(key) for key in ("overlap", "explain", "progress")}
    assert values == {"overlap": True, "explain": None, "progress": None}
    assert kernel_named("collective").flat(cell.parameters)["overlap"] == 1
    assert "overlap samples" in kernel_named("collective").need(cell.parameters, 8, plan(study()).measure)
    assert progress_thread("MPICH Version: 4.2.3", several_nodes=False) == {"MPIR_CVAR_ASYNC_PROGRESS": "1"}
    assert progress_thread("Open MPI v5.0.7, package: x", several_nodes=False) == {}
    assert progress_thread("Open MPI v5.0.7", several_nodes=True) == {"OMPI_MCA_btl_tcp_progress_thread": "1"}
    assert progress_thread("Open MPI v6.0.0", several_nodes=False) == {"OMPI_MCA_opal_async_progress": "1"}
    assert progress_thread("Intel(R) MPI Library 2021.14", several_nodes=True) == {"I_MPI_ASYNC_PROGRESS": "1"}
    assert progress_thread("Unknown 1", several_nodes=True) == {}
    both = with_threads(Sweep(((Shape(2, 1), {"collective": "bcast"}),), ()), "MPICH Version: 4.2.3").values
    assert [each.get("progress") for _, each in both] == [None, "thread"]
    assert both[1][1]["setting"] == {"MPIR_CVAR_ASYNC_PROGRESS": "1"}
    launched = make_plan(study(overlap=True), cluster(), library="MPICH Version: 4.2.3").launches
    assert {launch.settings.get("MPIR_CVAR_ASYNC_PROGRESS", "") for launch in launched} == {"", "1"}
    refused: list[dict[str, Any]] = [{"guidelines": True}, {"refine": 2}, {"forms": ["inplace"]}]
    for wrong in refused:
        with pytest.raises(StudyError):
            study(overlap=True, **wrong)


def test_neighbours_of_a_torus_and_of_a_random_graph_are_planned_by_both_calls() -> None:
    section: dict[str, Any] = {
        "collectives": ["Alltoallv"],
        "patterns": ["cartesian", "random"],
        "forms": ["plain", "neighbor"],
    }
    found = plan(study(**section))
    calls = {kernel_named("collective").operations(cell.parameters, 8)[0].partition("@")[0] for cell in found.measured}
    assert calls == {f"alltoallv-{graph}{form}" for graph in ("cartesian", "random") for form in ("", "-neighbor")}
    torus = made_weights("cartesian", 8)
    assert [torus[0].tolist(), torus.sum(axis=1).tolist()] == [[0, 1, 0, 1, 1, 0, 0, 0], [3] * 8]
    assert made_weights("cartesian", 9).sum(axis=0).tolist() == [4] * 9
    drawn = made_weights("random", 8)
    assert drawn.sum(axis=1).tolist() == [4] * 8
    assert drawn.diagonal().sum() == 0
    assert made_weights("random", 1).tolist() == [[1]]
    assert all("columns" in cell.parameters and "weights" in kernel_named("collective").flat(cell.parameters)
               for cell in found.measured)  # fmt: skip
    note = plan(study(collectives=["Alltoall", "Alltoallv"], forms=["plain", "neighbor"])).notes
    assert any("neighbours are those of a graph" in line for line in note)


def test_guidelines_are_planned_with_a_fixed_root_and_their_memory() -> None:
    found = plan(study(collectives=["Bcast", "Gather"], guidelines=True))
    text = flat_plan(found, found.launches[-1])
    assert "root 0\nguidelines larger split fewer scatter+allgather allgatherv\n" in text
    assert "guidelines larger split fewer gatherv allgather reduce\n" in text
    cell = found.measured[0]
    need = kernel_named("collective").need(cell.parameters, 8, found.measure)
    assert need["guidelines"] == 4 * (64 + 64 + 16 * 8) + (8 + 2) * 64 + 2 * 8 * 8
    plain = kernel_named("collective").need({**cell.parameters, "guidelines": []}, 8, found.measure)
    assert need.keys() - plain.keys() == {"guidelines", "guideline samples"}
    assert kernel_named("collective").budgets(cell.parameters, 8) == 2 + 2 + 1
