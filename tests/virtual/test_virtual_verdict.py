# SPDX-License-Identifier: BSD-3-Clause
"""The limits of the links are turned, for real, and the verdict of the contention study follows the narrow one."""

from pathlib import Path

import pytest
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over

from made.view import load_view
from weft.analyse.tables.breakdown import BOTTLENECKS, LINKS
from weft.cli.app import main
from weft.fabric import load_fabric
from weft.report.tables import render
from weft.report.view import RunView
from weft.store.links import links_file, read_links

pytestmark = OVER_FABRIC

STUDY = """
name = "verdict"
title = "One host, two on a leaf, four over the uplinks"
kernel = "exchange"
[measure]
launches = 1
min_samples = 5
max_samples = 10
budget = "600 ms"
seed = 7
[exchange]
data = "contention"
calls = ["A", "C"]
[[series]]
name = "strong"
scaling = "strong"
nodes = {nodes}
ranks_per_node = {ranks_per_node}
n = 9600
m = 64
"""


def measure(
    installed: Installed, folder: Path, fabric_name: str, nodes: str = "[1, 2, 4]", ranks_per_node: str = "1"
) -> RunView:
    """A small contention study over a shipped virtual fabric."""
    study = STUDY.format(nodes=nodes, ranks_per_node=ranks_per_node)
    return load_view(run_over(load_fabric(fabric_name), installed, study, folder))


@pytest.mark.parametrize(
    ("fabric", "two", "four"),
    [
        ("virtual-narrow-uplinks", "injection", "link leaf0 up"),
        ("virtual-narrow-hosts", "injection", "injection"),
        ("virtual-default", "injection", "link leaf0 up"),
    ],
)
def test_the_verdict_follows_the_narrow_link(
    installed: Installed, tmp_path: Path, fabric: str, two: str, four: str
) -> None:
    view = measure(installed, tmp_path, fabric)
    found = {each["nodes"]: each for each in BOTTLENECKS.read(view.path)}
    several = {nodes: each for nodes, each in found.items() if nodes > 1}
    assert {nodes: each["name"] for nodes, each in several.items()} == {2: two, 4: four}, view.headline
    # the bound, which knows the file, and the counters, which know the wire, name the same link
    assert {nodes: each["bound"] for nodes, each in several.items()} == {2: two, 4: four}
    # copies may find less company than their floor had: a bound that a sample beats is not used
    assert found[1]["name"] == ("memory copy" if found[1]["bound_ratio"] is not None else "")
    # no link carries more than its rate while the counted operations ran, those of the breakdown among them
    shares = {nodes: each["busiest"]["share"] for nodes, each in found.items() if each["busiest"]}
    assert all(share is not None and 0.25 < share < 1.05 for share in shares.values()), shares
    ratios = {nodes: each["bound_ratio"] for nodes, each in found.items()}
    # links are shaped, so no load beside them makes them faster
    assert all(ratio is not None and ratio > 0.95 for nodes, ratio in ratios.items() if nodes > 1), ratios


def test_on_one_host_memory_is_named_and_no_link(installed: Installed, tmp_path: Path) -> None:
    view = measure(installed, tmp_path, "virtual-default", "[1]", "[1, 2]")
    for each in BOTTLENECKS.read(view.path):  # a bound of copies that a sample beats is not used
        assert each["name"] == ("memory copy" if each["bound_ratio"] is not None else "")
    # one launch is no verdict, and what it names is no link
    assert {each["id"] for each in view.claimed("answer")} <= {
        "contention.inconclusive",
        "scaling.strong",
        "scaling.weak",
    }


COLLECTIVE = """
name = "cells"
kernel = "collective"
[measure]
launches = 1
min_samples = 5
max_samples = 10
budget = "300 ms"
seed = 7
[collective]
collectives = ["Alltoall", "Bcast"]
sizes = ["1 KiB", "256 KiB"]
[[series]]
name = "s"
nodes = [4]
ranks_per_node = 1
"""


def test_the_cells_of_one_launch_have_a_load_each(installed: Installed, tmp_path: Path) -> None:
    view = load_view(run_over(load_fabric("virtual-default"), installed, COLLECTIVE, tmp_path))
    (launch,) = (each for each in view.plan.launches if len(each.cells) > 1)
    rows = [row for row in LINKS.read(view.path) if row["launch_id"] == launch.id and row["link"] == "link leaf0 up"]
    assert {row["cell"] for row in rows} == set(launch.cells)
    floors = {cell.id for cell in view.plan.floors}
    for row in (row for row in rows if row["cell"] not in floors):
        # of an all-to-all of b bytes leaf 0 sends 4 b up a call, of a broadcast over four hosts at least b in all
        largest = [each for each in view.rows if each["cell"] == row["cell"] and each["call"].endswith("@262144")]
        calls = sum(each["samples"] for each in largest)
        alltoall = largest[0]["call"].startswith("alltoall")
        assert row["bytes"] > calls * 262144 * (4 if alltoall else 0.5)
    whole = read_links(links_file(view.path, launch.id))
    assert sum(row["bytes"] for row in rows) <= next(
        each.bytes for each in whole if (each.source, each.target) == ("leaf0", "spine0")
    )
    assert "Load of the links at N = 4, p = 4 (c" in render(view)


def test_a_capture_is_asked_for_on_the_command_line(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import shutil

    if shutil.which("tcpdump", path="/usr/bin:/usr/sbin:/sbin:/bin") is None:
        pytest.skip("tcpdump is not installed")
    monkeypatch.chdir(tmp_path)
    Path("verdict.toml").write_text(STUDY.format(nodes="[2]", ranks_per_node="1"))
    words = ["run", "verdict.toml", "--on", "virtual-default", "--into", "run", "--pcap", "node1"]
    assert main([*words, "--mpicxx", str(installed.mpi.wrapper)]) == 0
    capture = Path("run/launches/c000.l1.node1.pcap")
    # headers of what an exchange of 4.9 MB a call sends in frames of 9 kB
    assert capture.stat().st_size > 25_000
    assert not list(Path("run/launches").glob("*.node0.pcap"))
    assert "captured at node1" in capfd.readouterr().out
