# SPDX-License-Identifier: BSD-3-Clause
"""A real subnet manager over a simulated fabric: its tables, its silent fall-backs, tables that it loads again."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weft.errors import FabricError, LaunchError
from weft.fabric.network.build import star
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Cables, Network, Switch
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree
from weft.fabric.readers import read_dump
from weft.launch import opensm
from weft.launch.opensm import Managed, manage
from weft.launch.preload import route_library
from weft.route.compare import score
from weft.route.given import fail, fail_random
from weft.route.improve import improve
from weft.route.routes import Routes, all_to_all, phases
from weft.route.subnet import ibsim_text, simulated_addresses, tables_text

pytestmark = pytest.mark.skipif(
    bool(opensm.missing()), reason=f"{opensm.missing()} missing: apt install opensm ibsim-utils"
)


def tree(hosts: int, nodes_per_leaf: int, uplinks: int) -> Network:
    shape = TreeSection.model_construct(nodes_per_leaf=nodes_per_leaf, uplinks=uplinks, link_rate=1e9)
    return fat_tree([f"n{h}" for h in range(hosts)], shape, rate=1e9)


def fullest(network: Network) -> int:
    return int(all_to_all(Routes(network, route_library(), 2)).load[network.switch_links].max())


def sockets() -> set[str]:
    return {line.split("@")[1] for line in Path("/proc/net/unix").read_text().splitlines() if "@weft-" in line}


def ours(name: str) -> list[int]:
    """Processes of a name whose environment has a socket of ours."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            named = entry.name.isdigit() and (entry / "comm").read_text().strip() == name
            if named and f"IBSIM_SOCKNAME=weft-{os.getpid()}-" in (entry / "environ").read_text():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("engine", ["minhop", "updn", "ftree", "dfsssp"])
def test_a_full_tree_is_routed_without_contention(engine: str) -> None:
    network = tree(32, 8, 8)
    made = manage(network, engine)
    assert (made.used, made.fell_back) == (engine, False)
    found = Routes(made.network, route_library(), 2)
    assert (found.lengths >= 0).all()
    assert fullest(made.network) == 8 * 24 // 8
    assert phases(found).mean == 1
    assert made.network.routing == f"OpenSM {engine} under ibsim: what the subnet manager would do"


def test_a_silent_fall_back_is_told_with_its_reason() -> None:
    """A leaf that lacks one of its uplinks is no fat tree for OpenSM: it routes by minhop and only logs that."""
    made = manage(fail(tree(32, 8, 8), ["leaf1 - spine3"]), "ftree")
    assert (made.asked, made.used) == ("ftree", "minhop")
    assert made.fell_back
    assert any("Different number of upward port groups" in reason for reason in made.reasons)


def loaded(network: Network, tables: Network, folder: Path) -> Managed:
    """The network as OpenSM routes it by the tables of another one."""
    file = folder / "new.lft"
    file.write_text(tables_text(replace(tables, addresses=simulated_addresses(tables))))
    return manage(network, "file", options=["-U", str(file)])


def test_tables_that_weft_writes_are_loaded_by_opensm_entry_for_entry(tmp_path: Path) -> None:
    network = fail(tree(48, 8, 4), ["leaf1 - spine3"])
    first = manage(network, "minhop").network
    # other tables: every host's traffic to other leaves goes over the next cable
    forward = first.forward.copy()
    up = np.flatnonzero(network.switch_links & (network.links.target >= 48 + 6))
    for switch in range(6):
        ways = up[network.links.source[up] == 48 + switch]
        for end in np.flatnonzero(network.leaf != switch):
            open_ways = [w for w in ways if forward[network.links.target[w] - 48, end] >= 0]
            open_ways = [w for w in open_ways if network.leaf[end] != 1 or network.links.target[w] != 48 + 6 + 3]
            forward[switch, end] = open_ways[int(end) % len(open_ways)]
    wanted = first.with_tables(forward, "changed")
    assert (forward != first.forward).sum() > 20
    again = loaded(network, wanted, tmp_path)
    assert again.used == "file"
    assert again.network.forward.tolist() == forward.tolist()


def test_better_tables_keep_their_scores_in_a_real_subnet_manager(tmp_path: Path) -> None:
    network = fail(tree(48, 8, 4), ["leaf1 - spine3", "leaf4 - spine0"])
    present = manage(network, "minhop").network
    found = improve(Routes(present, route_library(), 2), budget_s=20)
    best = found.fastest.routes.network
    taken = loaded(network, best, tmp_path).network
    assert taken.forward.tolist() == best.forward.tolist()
    again = score(Routes(taken, route_library(), 2))
    assert again.all_to_all == found.fastest.score.all_to_all <= found.present.score.all_to_all
    assert again.shift == found.fastest.score.shift


@pytest.mark.parametrize("engine", ["minhop", "dfsssp"])
def test_a_degraded_tree_comes_within_five_percent_of_its_bound_and_no_score_gets_worse(engine: str) -> None:
    present = manage(fail_random(tree(648, 18, 18), 32, seed=1), engine).network
    found = improve(Routes(present, route_library(), 2), budget_s=60)
    assert found.present.score.all_to_all > 1.5 * found.bound
    assert found.best.score.all_to_all <= 1.05 * found.bound
    assert found.best.score.no_worse_than(found.present.score)


def test_a_real_fabric_keeps_its_own_guids_and_lids(tmp_path: Path) -> None:
    """Tables made over ibsim are written for the fabric itself, whose subnet manager knows no made-up GUID."""
    data = Path(__file__).parents[1] / "data" / "networks"
    network = network_of(read_dump(data / "small-subnet.lst"))
    made = manage(network, "minhop").network
    assert made.addresses is network.addresses
    text = tables_text(made)
    assert "of switch Lid 3 guid 0x0000000000200001 ():" in text
    assert "0x0006 001 # Channel Adapter portguid 0x0000000000100005: ''" in text
    assert loaded(network, made, tmp_path).network.forward.tolist() == made.forward.tolist()


def test_hosts_with_two_cables_keep_their_ports() -> None:
    cables = Cables()
    for host in (0, 1):
        cables.add(host, 2, 1e9)
        cables.add(host, 3, 1e9)
    cables.add(2, 3, 1e9)
    links = cables.links()
    forward = np.full((2, 2), -1, dtype=np.int32)
    network = Network("dump", ("a", "b"), (Switch("s0", 1), Switch("s1", 1)), links, forward)
    made = manage(network).network
    assert len(made.route("a", "b")) == 2
    assert made.addresses is not None
    assert (made.addresses.host_lids > 0).all()


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    before = {path.name for path in Path("/tmp").glob("weft-opensm-*")}
    manage(tree(8, 4, 2), keep=kept)
    assert {"opensm-lfts.dump", "opensm-subnet.lst", "osm.log", "fabric.net"} <= {p.name for p in kept.iterdir()}
    assert {path.name for path in Path("/tmp").glob("weft-opensm-*")} <= before
    assert ours("ibsim") == ours("opensm") == []
    assert not any(name.startswith(f"weft-{os.getpid()}-") for name in sockets())


def test_the_simulator_ends_with_a_killed_weft_and_the_next_one_clears_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import time\nfrom weft.fabric.network.sections import TreeSection\n"
        "from weft.fabric.network.tree import fat_tree\nfrom weft.launch import opensm\n"
        "opensm._opensm = lambda *a: (print('up', flush=True), time.sleep(60))\n"
        "tree = TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=1e9)\n"
        "opensm.manage(fat_tree(['a', 'b'], tree, rate=1e9))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        mine = f"weft-{running.pid}-"
        assert any(name.startswith(mine) for name in sockets())
        running.send_signal(signal.SIGKILL)
        running.wait()
        until = time.monotonic() + 10
        while any(name.startswith(mine) for name in sockets()):
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        running.kill()
    assert len(list(tmp_path.glob("weft-opensm-*"))) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    manage(tree(8, 4, 2))
    assert list(tmp_path.glob("weft-opensm-*")) == []


def test_what_is_missing_is_said_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opensm, "_program", lambda name: None if name == "opensm" else "/bin/true")
    with pytest.raises(LaunchError, match="opensm not found") as caught:
        manage(tree(8, 4, 2))
    assert "apt install opensm ibsim-utils" in caught.value.remedy


def test_an_engine_that_opensm_does_not_know_is_told_as_a_fall_back() -> None:
    made = manage(tree(8, 4, 2), "nosuch")
    assert (made.asked, made.used, made.fell_back) == ("nosuch", "minhop", True)


def test_a_box_of_more_ports_than_infiniband_has_is_refused() -> None:
    with pytest.raises(FabricError, match="has 300 ports"):
        ibsim_text(star([f"n{i}" for i in range(300)], rate=1e9))
