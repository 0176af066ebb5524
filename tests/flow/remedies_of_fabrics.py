# SPDX-License-Identifier: BSD-3-Clause
"""Cases of errors about fabrics, their dumps and routes."""

import re
from pathlib import Path

import pytest
from remedies import DUMPS, Cases, Typed, fabric_of, run_here

from weft.cli.app import main
from weft.errors import FabricError, LaunchError, WeftError
from weft.fabric import load_fabric
from weft.fabric.network.build import build_network
from weft.fabric.nodeset import expand
from weft.kernel.pairs.plan import part_links
from weft.launch.simulated.machine import stated
from weft.mpi.alltoall import read_selection
from weft.tune.model import Machine

CASES = Cases()


@CASES.of("fabric/readers/__init__.py", "weft fabric import NETWORK --tables TABLES")
def tables_for_a_network(typed: Typed) -> None:
    assert "--tables TABLES" in typed.fails("fabric", "import", DUMPS / "small-lfts.dump", "-o", "x.toml")
    fabric = fabric_of("small.ibnetdiscover", typed, "--tables", DUMPS / "small-lfts.dump")
    typed("fabric", "show", fabric)


@CASES.of("fabric/network/build.py", "weft fabric import DUMP writes the names")
def foreign_nodes(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    right = load_fabric(fabric).node.names
    fabric.write_text(re.sub(r'names = "node.*"', 'names = "n[1-4]"', fabric.read_text()))
    assert "weft fabric import DUMP" in typed.fails("fabric", "show", fabric)
    typed("fabric", "import", DUMPS / "small.ibnetdiscover", "-o", "again.toml")
    assert load_fabric("again.toml").node.names == right
    typed("fabric", "show", "again.toml")


@CASES.of("fabric/network/build.py", "weft fabric show FILE lists the names")
def foreign_rates(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    good = fabric.read_text()
    fabric.write_text(good + '\n[network.rates]\n"leaf7 - spine0" = "1 GB/s"\n')
    assert "taken out, weft fabric show FILE" in typed.fails("fabric", "show", fabric)
    fabric.write_text(good)
    network = build_network(load_fabric(fabric))
    leaf, host = network.switches[int(network.leaf[0])].name, network.hosts[0]
    shown = typed("fabric", "show", fabric)
    assert leaf in shown
    assert host in expand(shown.split()[shown.split().index(leaf) + 3])
    fabric.write_text(good + f'\n[network.rates]\n"{leaf} - {host}" = "1 GB/s"\n')
    typed("fabric", "show", fabric)


@CASES.of("fabric/network/graph.py", "weft fabric show FILE lists them")
def no_such_host(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    remedy = typed.fails("route", "show", fabric, "--placement", "nobody")
    assert "weft fabric show FILE lists them" in remedy
    shown = typed("fabric", "show", fabric)
    listed = {host for word in shown.split() if word.startswith("node[") for host in expand(word)}
    assert listed == set(build_network(load_fabric(fabric)).hosts)


@CASES.of("run/shipped.py", "weft audit --on local")
def a_model_has_no_library_to_audit(typed: Typed) -> None:
    assert "weft audit --on local" in typed.fails("audit", "--on", "tara")


@CASES.of("run/check.py", "weft check --on FABRIC, with at least two nodes; weft list fabrics")
def one_node_to_check(typed: Typed) -> None:
    assert "weft list fabrics" in typed.fails("check", "--on", "local")
    assert "virtual-slow-cable" in typed("list", "fabrics")


@CASES.of("kernel/pairs/plan.py", "weft fabric show FILE lists them")
def no_such_part(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    network = build_network(load_fabric(fabric))
    with pytest.raises(WeftError, match="no cable or switch 'nothing'") as caught:
        part_links(network, "nothing")
    assert "weft fabric show FILE lists them" in caught.value.remedy
    shown = typed("fabric", "show", fabric)
    named = [switch.name for switch in network.switches if switch.name in shown]
    assert named
    assert all(part_links(network, name).size for name in named)


@CASES.of("fabric/network/graph.py", "weft fabric check FILE names what is not connected")
def no_route(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    dump = Path("cut.ibnetdiscover")
    text = (DUMPS / "small.ibnetdiscover").read_text()
    cut = [line for line in text.splitlines() if "100005" not in line or line.startswith(("Ca", "caguid"))]
    dump.write_text("\n".join(cut) + "\n")
    typed("fabric", "import", dump, "-o", "imported.toml")
    network = build_network(load_fabric("imported.toml"))
    lonely = next(host for host in network.hosts if network.uplink[network.index[host]] < 0)
    with pytest.raises(FabricError, match="no route") as caught:
        network.route(next(host for host in network.hosts if host != lonely), lonely)
    assert "weft fabric check FILE" in caught.value.remedy
    assert main(["fabric", "check", "imported.toml"]) == 1
    assert lonely in capsys.readouterr().out


@CASES.of("route/given.py", "weft fabric import DUMP -o FILE")
def cables_unknown(typed: Typed) -> None:
    Path("topology.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n"
    )
    typed("fabric", "import", "topology.conf", "-o", "slurm.toml")
    assert "weft fabric import DUMP -o FILE" in typed.fails("route", "show", "slurm.toml")
    typed("route", "show", fabric_of("small.ibnetdiscover", typed))


@CASES.of("launch/site.py", "weft fabric import DUMP -o FILE")
def best_nodes_without_cables(typed: Typed) -> None:
    Path("topology.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n"
    )
    kept = (run_here() / "study.toml").read_text()
    text = re.sub(r"nodes = .*", "nodes = 2", kept)
    Path("study.toml").write_text(text + '\n[placement]\nnodes = "best"\n')
    typed("fabric", "import", "topology.conf", "-o", "slurm.toml", "--node", DUMPS / "two-sockets.xml")
    assert "weft fabric import DUMP -o FILE" in typed.fails("plan", "study.toml", "--on", "slurm.toml")
    typed("fabric", "import", DUMPS / "small.ibnetdiscover", "-o", "cables.toml", "--node", DUMPS / "two-sockets.xml")
    assert "best" in typed("plan", "study.toml", "--on", "cables.toml")


@CASES.of("launch/simulated/machine.py", "fitted with weft fabric fit")
def number_not_stated(typed: Typed) -> None:
    fabric = load_fabric(fabric_of("small.ibnetdiscover", typed))
    with pytest.raises(FabricError, match=r"node\.latency is not stated") as caught:
        stated(fabric.node.latency, fabric, "node.latency")
    assert "weft fabric fit" in caught.value.remedy
    assert "fit" in typed("fabric", "fit", "--help")


@CASES.of("launch/opensm.py", "weft fabric check FILE")
def ibsim_refuses(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.launch import opensm

    gone = type("Gone", (), {"poll": lambda self: 1})()
    Path("log").write_text("ibsim: parse error\n")
    with pytest.raises(LaunchError, match="ibsim cannot simulate") as caught:
        opensm._await_socket(gone, "nowhere", Path("log"))  # pyright: ignore[reportPrivateUsage, reportArgumentType]
    assert caught.value.remedy == "weft fabric check FILE"
    assert "error" not in typed("fabric", "check", fabric_of("small.ibnetdiscover", typed)).partition(":")[0]


@CASES.of("fabric/presets.py", "weft fabric presets")
def no_such_preset(typed: Typed) -> None:
    Path("mine.toml").write_text('name = "mine"\nkind = "simulated"\n[node]\npreset = "no-such-node"\n')
    assert "weft fabric presets" in typed.fails("fabric", "show", "mine.toml")
    assert "epyc-7763" in typed("fabric", "presets")


@CASES.of("mpi/alltoall.py", "make it anew: weft tune --on FABRIC")
def torn_selection_table(typed: Typed) -> None:
    Path("torn.json").write_text("{")
    with pytest.raises(WeftError) as caught:
        read_selection(Path("torn.json"))
    assert "weft tune --on FABRIC" in caught.value.remedy
    assert "--on" in typed("tune", "--help")


@CASES.of("tune/model.py", "measure it: weft tune --probe --on FABRIC -o FILE")
def no_numbers_of_a_machine(typed: Typed) -> None:
    Path("machine.json").write_text("{")
    words = ("tune", "--predict", "--on", "message-bound", "--machine", "machine.json")
    assert "weft tune --probe" in typed.fails(*words)
    assert "--probe" in typed("tune", "--help")


@CASES.of("tune/model.py", "fit them: weft fabric fit RUN -o FABRIC")
def rates_not_stated(typed: Typed) -> None:
    fabric = load_fabric(fabric_of("small.ibnetdiscover", typed))
    with pytest.raises(FabricError, match="the cost model needs") as caught:
        Machine.of(fabric)
    assert "weft fabric fit" in caught.value.remedy
    assert "fit" in typed("fabric", "fit", "--help")
