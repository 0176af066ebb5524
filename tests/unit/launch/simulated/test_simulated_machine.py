# SPDX-License-Identifier: BSD-3-Clause
"""What a simulation is given: the machine's description, the plan, SimGrid's options, and what it will cost."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.errors import FabricError, LaunchError
from weft.fabric import Fabric, load_fabric
from weft.fabric.network.build import build_network
from weft.fabric.simulation import SimulationSection
from weft.kernel.studies import load_study
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.machine import describe_machine, host_file, links_between
from weft.launch.simulated.simgrid import Programs, SimGrid, find_simgrid, options
from weft.plan.make import make_plan
from weft.plan.records import LaunchCell
from weft.plan.simulation_budget import content_matters, expected_cost, message_s, refusal
from weft.plan.wire import Rules

TREE = """
name = "small"
kind = "simulated"
[node]
names = "n[0-7]"
cores = 2
memory = "1 GiB"
copy_rate = "5 GB/s"
latency = "200 ns"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "3 GB/s"
overhead = "1 us"
eager_limit = "16 KiB"
rendezvous_stall = "9 us"
[network.tree]
nodes_per_leaf = 4
uplinks = 2
link_rate = "4 GB/s"
[simulation]
collectives = "ompi"
connection_cost = "2 ms"
"""


def fabric_of(tmp_path: Path, text: str = TREE) -> Fabric:
    path = tmp_path / "small.toml"
    path.write_text(text)
    return load_fabric(path)


def cell(kernel: str, values: dict[str, Any], ranks: int = 8) -> LaunchCell:
    return LaunchCell("c000", kernel, values, ranks)


def lines_of(text: str, key: str) -> list[list[str]]:
    return [line.split()[1:] for line in text.splitlines() if line.split()[0] == key]


def walked(text: str, start: str, end: str) -> list[tuple[str, str]]:
    """The route from the description alone."""
    hosts = [words[0] for words in lines_of(text, "host")]
    links = lines_of(text, "link")
    tables = {words[0]: words[1:] for words in lines_of(text, "next")}
    link = next(words for words in links if words[0] == start)
    route = [(link[0], link[1])]
    while route[-1][1] != end:
        link = links[int(tables[route[-1][1]][hosts.index(end)])]
        route.append((link[0], link[1]))
    return route


def test_every_route_of_the_description_is_the_networks_own(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path)
    network = build_network(fabric)
    text = describe_machine(fabric, fabric.hosts, 2)
    names = {**dict(enumerate(network.hosts)), **{8 + s: f"switch.{s}" for s in range(len(network.switches))}}
    for a in fabric.hosts:
        for b in fabric.hosts:
            if a != b:
                route = [
                    (names[int(network.links.source[i])], names[int(network.links.target[i])])
                    for i in network.route(a, b)
                ]
                assert walked(text, a, b) == route


def test_only_links_between_the_chosen_hosts_are_described(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path)
    text = describe_machine(fabric, ["n1", "n3"], 2)
    assert lines_of(text, "host") == [["n1"], ["n3"]]
    assert len(lines_of(text, "switch")) == 1
    assert len(lines_of(text, "link")) == 4


def test_one_node_needs_no_network(tmp_path: Path) -> None:
    text = describe_machine(fabric_of(tmp_path), ["n5"], 2)
    assert not lines_of(text, "link")
    assert lines_of(text, "copies") == [["5000000000.0", "2e-07"]]


def test_costs_of_messages_and_connections_are_the_fabrics(tmp_path: Path) -> None:
    text = describe_machine(fabric_of(tmp_path), ["n0"], 2)
    assert lines_of(text, "message") == [["0.0"]]
    eager, rendezvous = lines_of(text, "segment")
    assert eager == ["all", "1e-06", "0.0", "0.0"]
    assert rendezvous[0] == "16384"
    assert float(rendezvous[1]) == pytest.approx(10e-6)
    assert lines_of(text, "connections") == [["0.002", "64", "nothing"]]


def test_a_rate_that_is_not_stated_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match=r"node\.copy_rate is not stated"):
        describe_machine(fabric_of(tmp_path, TREE.replace('copy_rate = "5 GB/s"\n', "")), ["n0"], 2)
    with pytest.raises(FabricError, match=r"network\.adapter_rate .* is not stated"):
        describe_machine(fabric_of(tmp_path, TREE.replace('adapter_rate = "3 GB/s"\n', "")), ["n0", "n1"], 2)


def test_hosts_that_cannot_reach_each_other_are_named(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path)
    network = build_network(fabric)
    cut = network.forward.copy()
    cut[:, 6] = -1
    with pytest.raises(FabricError, match="no route from n0 to n6"):
        describe_machine(fabric, fabric.hosts, 2, network.with_tables(cut, "cut"))


def test_tables_that_turn_in_a_circle_are_refused(tmp_path: Path) -> None:
    fabric = fabric_of(tmp_path)
    network = build_network(fabric)
    turned = network.forward.copy()
    back = {int(s): int(i) for i, s in enumerate(network.links.source) if network.switch_links[i]}
    for switch in range(len(network.switches)):
        turned[switch, 7] = back[switch + len(network.hosts)]
    with pytest.raises(FabricError, match="loop"):
        links_between(network.with_tables(turned, "turned"), np.array([0, 7], dtype=np.int32))


def test_ranks_fill_slots_in_block_and_in_cyclic_order() -> None:
    assert host_file(["a", "b"], 4, 2, "block").split() == ["a/0", "a/1", "b/0", "b/1"]
    assert host_file(["a", "b"], 3, 2, "cyclic").split() == ["a/0", "b/0", "a/1"]


def test_a_simulator_takes_one_sample_and_no_warm_up(tmp_path: Path) -> None:
    nowhere = Path("/nowhere")
    programs = Programs(nowhere, SimGrid(nowhere, nowhere, "3.32"))
    rules = SimulatedLauncher(fabric_of(tmp_path), programs, workers=1).rules
    assert rules == Rules(io="posix", samples=1, watchdog=False)


SORT = {"n": 576, "m": 8, "data": "uniform"}
ONCE, TWICE = (SimulationSection.model_validate({"samples": samples}) for samples in (1, 2))
CONTENTION = {"n": 576, "m": 8, "data": "contention", "calls": ["A", "C"]}


def test_only_the_contention_set_may_be_folded() -> None:
    assert not content_matters([cell("exchange", CONTENTION), cell("floor", {})])
    assert content_matters([cell("exchange", CONTENTION), cell("exchange", SORT)])
    plain, real = (expected_cost([cell("exchange", each)], 8, TWICE, None) for each in (CONTENTION, SORT))
    assert real.memory_bytes - plain.memory_bytes == 4 * 8 * 576 * 8


def test_a_simulation_costs_more_than_in_proportion_to_its_messages() -> None:
    values = CONTENTION | {"calls": ["C"]}
    small, large = (expected_cost([cell("exchange", values, ranks)], ranks, TWICE, 0) for ranks in (288, 1152))
    assert large.messages > 14 * small.messages
    assert large.seconds > 1.4 * small.seconds * large.messages / small.messages
    assert large.memory_bytes > small.memory_bytes


def test_blocks_that_are_sent_without_asking_cost_the_simulator_more() -> None:
    assert message_s(1152, ["mvapich2"], eager=True) > 1.5 * message_s(1152, ["mvapich2"])
    asking = [cell("collective", {"collective": "alltoall", "bytes": [65536]}, 1152)]
    without = [*asking, cell("collective", {"collective": "alltoall", "bytes": [8]}, 1152)]
    library = section("mvapich2")
    one, two = (expected_cost(each, 1152, library, 16384) for each in (asking, without))
    assert two.seconds / two.messages > 1.5 * one.seconds / one.messages


def section(library: str, **more: Any) -> SimulationSection:
    return SimulationSection.model_validate({"collectives": library, "budget": "10 s", **more})


def test_an_algorithm_that_sends_to_all_at_once_is_known_to_be_dear_and_its_windowed_one_is_named() -> None:
    # 128 ranks with blocks of 32 KiB: simulated at 1.4 ms a message, and once estimated at 35 us
    values = {"n": 2 * 128**2, "m": 2048, "data": "contention", "calls": ["C"]}

    def told(simulation: SimulationSection, ranks: int = 128, m: int = 2048) -> tuple[float, str]:
        asked = [cell("exchange", values | {"m": m, "n": 2 * ranks**2}, ranks)]
        cost = expected_cost(asked, ranks, simulation, 16384)
        return cost.seconds / cost.messages, refusal(cost, ranks, simulation)

    each_s, why = told(section("ompi"))
    assert each_s == pytest.approx(1.387e-3, rel=0.1)
    assert 'alltoallv of ompi sends to all 128 ranks at once: simulation.algorithms = { alltoallv = "ring" }' in why
    for windowed in (section("mpich"), section("ompi", algorithms={"alltoallv": "ring"})):
        assert told(windowed) == (pytest.approx(20e-6, rel=0.3), "")
    assert told(section("ompi"), ranks=96)[0] == pytest.approx(13e-6, rel=0.1)  # its selector takes a ring there
    assert told(section("ompi"), ranks=56)[0] == pytest.approx(75e-6, rel=0.2)
    assert told(section("ompi"), m=8)[0] == pytest.approx(19e-6, rel=0.1)  # small blocks are not under way at once


@pytest.mark.parametrize(
    ("call", "algorithm", "ranks", "seen_s"),
    [
        # points of bench/simulated_costs.py
        ("alltoallv", "ompi_basic_linear", 48, 44.3e-6), ("alltoallv", "ompi_basic_linear", 64, 93.1e-6),
        ("alltoallv", "ompi_basic_linear", 96, 411e-6), ("alltoallv", "ompi_basic_linear", 128, 1387e-6),
        ("alltoall", "basic_linear", 64, 35.2e-6), ("alltoall", "basic_linear", 96, 118e-6),
        ("alltoall", "basic_linear", 128, 213e-6), ("alltoallv", "ring", 128, 11.1e-6),
        ("alltoallv", "ring", 512, 35.4e-6), ("alltoallv", "mpich", 256, 44.5e-6), ("alltoall", "pair", 512, 36.9e-6),
    ],
)  # fmt: skip
def test_each_algorithm_is_estimated_within_a_factor_of_what_it_took(
    call: str, algorithm: str, ranks: int, seen_s: float
) -> None:
    asked = [cell("collective", {"collective": call, "bytes": [65536], "form": "plain"}, ranks)]
    cost = expected_cost(asked, ranks, section("mpich", algorithms={call: algorithm}), 16384)
    assert seen_s / 1.5 < cost.seconds / cost.messages < 1.5 * seen_s


def test_a_library_that_a_launch_chooses_for_a_call_counts() -> None:
    """It was estimated as the fabric's own library, at a sixtieth."""
    asked = [cell("collective", {"collective": "alltoallv", "bytes": [65536], "form": "plain"}, 128)]
    own, chosen = (
        expected_cost(asked, 128, section("mpich"), 16384, settings)
        for settings in ({}, {"WEFT_SMPI_ALLTOALLV": "ompi"})
    )
    assert chosen.seconds > 30 * own.seconds
    assert chosen.at_once == ("alltoallv",)


def test_a_plan_names_the_cells_that_will_be_refused() -> None:
    notes = make_plan(load_study("tara-beyond"), load_fabric("tara-extended")).notes
    refused = [note for note in notes if "will have a bound and no time" in note]
    assert [note.split(" (")[0] for note in refused] == ["c003", "c004, c009"]
    assert "over the budget of 15 min" in refused[0]


def test_a_plan_names_some_of_many_cells_that_will_be_refused_and_counts_the_others(tmp_path: Path) -> None:
    """All pairs of 8,192 ranks filled pages with the names of 394 cells, a note for each of 17 launches."""
    fabric = fabric_of(tmp_path, TREE.replace("n[0-7]", "n[0-1023]").replace("1 GiB", "24 GiB"))
    study = 'name = "all"\nkernel = "pairs"\n[[series]]\nname = "all"\nnodes = 1024\nranks_per_node = 2\n'
    (tmp_path / "all.toml").write_text(study)
    notes = make_plan(load_study(tmp_path / "all.toml"), fabric).notes
    (refused,) = [note for note in notes if "will have a bound and no time" in note]
    assert refused.startswith("c000, c001, c002, c003 and ")
    assert "; other launches over it: " in refused


def test_rooted_algorithms_are_the_librarys_only_where_they_are_measured(tmp_path: Path) -> None:
    text = TREE.replace('connection_cost = "2 ms"', "")
    nowhere = Path("/nowhere")
    programs = Programs(nowhere, SimGrid(nowhere, nowhere, "3.32"))
    launcher = SimulatedLauncher(fabric_of(tmp_path, text), programs, workers=1)
    assert "smpi/bcast" not in launcher.options([cell("exchange", CONTENTION)])
    assert launcher.options([cell("exchange", CONTENTION)])["smpi/alltoallv"] == "ompi"
    told = launcher.options([cell("collective", {"collective": call}) for call in ("bcast", "allgather")])
    assert (told["smpi/bcast"], told["smpi/allgather"]) == ("ompi", "ompi")
    assert "smpi/reduce" not in told


def test_the_infiniband_model_sees_a_node_as_one_host(tmp_path: Path) -> None:
    text = TREE.replace('connection_cost = "2 ms"', 'model = "infiniband"')
    fabric = fabric_of(tmp_path, text)
    assert lines_of(describe_machine(fabric, fabric.hosts, 2), "ranks-per-node") == [["0"]]
    assert host_file(("n0", "n1"), 4, 2, "block", shared=True).split() == ["n0", "n0", "n1", "n1"]
    assert fabric.simulation is not None
    assert options(fabric.simulation, None)["network/model"] == "IB"
    with pytest.raises(FabricError, match="leave out connection_cost"):
        fabric_of(tmp_path, TREE.replace("[simulation]", '[simulation]\nmodel = "infiniband"'))


@pytest.mark.parametrize(("library", "given"), [("mvapich2", True), ("impi", False), ("ompi", True), ("mpich", True)])
def test_every_selector_is_taken_but_one_that_crashes(library: str, given: bool) -> None:
    simulation = SimulationSection.model_validate({"collectives": library})
    assert "smpi/bcast" not in options(simulation, None)  # Weft's own
    told = options(simulation, None, ["bcast", "allgather", "reduce_scatter"])
    assert ("smpi/bcast" in told) == given
    assert (told["smpi/allgather"], told["smpi/reduce_scatter"]) == (library, library)
    assert options(simulation, None, ["bcast"])["smpi/allgather"] == "bruck"


def test_cray_is_mpich_with_several_steps_of_an_all_to_all_under_way(tmp_path: Path) -> None:
    cray = fabric_of(tmp_path, TREE.replace('"ompi"', '"cray"'))
    assert cray.simulation is not None
    assert options(cray.simulation, None, ["alltoall"])["smpi/alltoall"] == "mpich"
    assert lines_of(describe_machine(cray, cray.hosts, 2), "alltoall-steps") == [["24"]]
    other = fabric_of(tmp_path, TREE)
    assert lines_of(describe_machine(other, other.hosts, 2), "alltoall-steps") == []


def test_what_a_library_keeps_for_each_rank_takes_the_place_of_the_estimate() -> None:
    terms = {"unsorted": 100, "library staging": 7}
    assert SimulationSection().staged(terms, 8) == terms  # pyright: ignore[reportCallIssue]
    assert SimulationSection.model_validate({"peer_buffers": "1 KiB"}).staged(terms, 8) == {
        "unsorted": 100, "library staging": 8192,
    }  # fmt: skip


def test_nothing_of_simgrids_own_calibration_is_left() -> None:
    told = options(SimulationSection(collectives="mvapich2"), 16384, ["alltoallv"])
    assert (told["smpi/bw-factor"], told["smpi/lat-factor"]) == ("0:1", "0:1")
    assert told["smpi/simulate-computation"] == "no"
    assert told["smpi/alltoallv"] == "mvapich2"
    assert told["smpi/send-is-detached-thresh"] == "16385"
    assert told["network/weight-S"] == "8775", "but for this, which the machines that are shipped were fitted with"
    equal = SimulationSection.model_validate({"sharing": "equal"})
    assert options(equal, None)["network/weight-S"] == "1", "0 would stop flows on a fabric without a latency"


def test_simgrid_that_is_missing_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LaunchError, match="SimGrid is not here") as caught:
        find_simgrid()
    assert "apt install libsimgrid-dev" in caught.value.remedy


def test_simgrid_that_is_too_old_is_told_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("smpicxx", "#!/bin/sh\n"), ("smpirun", "#!/bin/sh\necho SimGrid version 3.25\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LaunchError, match=r"SimGrid 3\.25 .* is too old"):
        find_simgrid()


def test_another_mpis_wrapper_cannot_simulate() -> None:
    with pytest.raises(LaunchError, match=r"only SimGrid's smpicxx can"):
        find_simgrid("/usr/bin/mpicxx")


def test_what_a_measured_call_calls_takes_the_librarys_algorithm_too() -> None:
    # Open MPI's allreduce may be a reduction and a broadcast: these were SMPI's plain ones
    ours = options(section("ompi"), None, {"allreduce"})
    assert {ours[f"smpi/{call}"] for call in ("allreduce", "reduce", "bcast")} == {"ompi"}
    others = options(section("mpich"), None, {"allreduce"})
    assert "smpi/reduce" not in others
