# SPDX-License-Identifier: BSD-3-Clause
"""``placement.nodes = "best"``: the plan takes the nodes that the routes serve best, and says which."""

from pathlib import Path

import pytest

from made.traces import MadeRank
from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.importing import import_dump
from weft.host import Host, Limit
from weft.kernel.studies import load_study, make_study
from weft.launch.site import with_best_nodes
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.study import Study
from weft.trace.replay import Asked, prepare

HOST = Host("here", 2, 2**34, (Limit(2**34, "MemAvailable"),))
CABLES = """\
a,a_port,b,b_port,rate
n0,1,leaf0,1,1 GB/s
n1,1,leaf0,2,10 GB/s
n2,1,leaf0,3,10 GB/s
n3,1,leaf1,1,10 GB/s
n4,1,leaf1,2,10 GB/s
n5,1,leaf1,3,10 GB/s
leaf0,4,leaf1,4,10 GB/s
"""
LEAF = {f"n{number}": number // 3 for number in range(6)}


def study(nodes: object) -> Study:
    series = [{"name": "one", "nodes": [1, 2, 3, 5, 9], "ranks_per_node": 1, "n": 8100, "m": 4}]
    tree = {"name": "s", "kernel": "exchange", "measure": {"seed": 7}, "series": series, "placement": {"nodes": nodes}}
    return make_study(tree, "s.toml")


@pytest.fixture
def cabled(tmp_path: Path) -> Fabric:
    """Two leaves of three hosts with one cable between them; the first host's own cable is slow."""
    return machine(tmp_path, CABLES)


def planned(given: Study, fabric: Fabric) -> Plan:
    """The plan of a study with its best nodes."""
    notes: list[str] = []
    placed, known = with_best_nodes(given, fabric, notes)
    return make_plan(placed, known, predict=False, host=HOST, notes=notes)


def machine(tmp_path: Path, cables: str) -> Fabric:
    (tmp_path / "cables.csv").write_text(cables)
    import_dump(tmp_path / "cables.csv", tmp_path / "cabled.toml")
    return load_fabric(str(tmp_path / "cabled.toml"))


def test_the_best_nodes_share_a_leaf_and_have_fast_cables(cabled: Fabric) -> None:
    plan = planned(study("best"), cabled)
    hosts = {cell.nodes: set(cell.hosts) for cell in plan.cells if cell.kernel == "exchange"}
    assert hosts[2] in [{"n1", "n2"}, *({a, b} for a in ("n3", "n4", "n5") for b in ("n3", "n4", "n5") if a < b)]
    assert len(hosts[3]) == 3
    assert "n0" not in hosts[3]
    assert hosts[5] == {"n1", "n2", "n3", "n4", "n5"}
    notes = "\n".join(plan.notes)
    assert "an all-to-all at 100 % of injection by the routes; the worst at 10 % (all sets were looked at)" in notes
    assert plan.planned_fabric.groups["best-3"]


def test_a_number_of_nodes_that_is_not_there_is_still_a_row(cabled: Fabric) -> None:
    plan = planned(study("best"), cabled)
    (nine,) = [cell for cell in plan.cells if cell.nodes == 9]
    assert nine.status == "fabric"


def test_the_plan_is_not_touched_without_it(cabled: Fabric) -> None:
    plan = planned(study("compact"), cabled)
    assert not plan.planned_fabric.groups
    assert {cell.hosts for cell in plan.cells if cell.nodes == 2} == {("n0", "n1")}


def test_a_replay_gets_the_nodes_that_carry_its_own_messages(tmp_path: Path) -> None:
    """Two pairs of ranks want one pair under each leaf; it got the nodes of an all-to-all, three of them under one."""
    cabled = machine(tmp_path, CABLES.replace("leaf0,4,leaf1,4,10", "leaf0,4,leaf1,4,5"))
    for rank in range(4):
        made = MadeRank(rank, 4)
        if rank % 2:
            made.call("MPI_Recv", 1, 2, peer=rank - 1, tag=1, received=2**20)
        else:
            made.call("MPI_Send", 1, 2, peer=rank + 1, tag=1, bytes=2**20)
        made.write(tmp_path / "trace" / "raw")
    path, _ = prepare(tmp_path / "trace", [cabled], Asked(4, place="best"))
    plan = planned(load_study(path), cabled)
    (cell,) = [cell for cell in plan.cells if cell.kernel == "replay"]
    assert [sum(leaf == LEAF[host] for host in cell.hosts) for leaf in (0, 1)] == [2, 2]
    assert "n0" not in cell.hosts
    assert any("the traced messages at 100 % of injection" in note for note in plan.notes)
    cyclic = path.with_name("cyclic.toml")
    turned = path.read_text().replace("nodes = [4]", "nodes = [2]").replace("ranks_per_node = 1", "ranks_per_node = 2")
    cyclic.write_text(turned.replace("[placement]", '[placement]\norder = "cyclic"'))
    (two,) = [cell for cell in planned(load_study(cyclic), cabled).cells
              if cell.kernel == "replay"]  # fmt: skip
    assert LEAF[two.hosts[0]] == LEAF[two.hosts[1]]  # ranks 0 and 2 against 1 and 3: all bytes go between nodes


def test_without_cables_there_is_no_best(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(
        "SwitchName=leaf0 Nodes=n[0-2]\nSwitchName=leaf1 Nodes=n[3-5]\nSwitchName=top Switches=leaf[0-1]\n"
    )
    import_dump(tmp_path / "topology.conf", tmp_path / "slurm.toml")
    with pytest.raises(FabricError, match=r'placement.nodes = "best" needs the routes of slurm'):
        planned(study("best"), load_fabric(str(tmp_path / "slurm.toml")))
