# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that are one host: what "crosses the network" between them never did, and the run says so (METHOD 20)."""

import json
import shutil
from pathlib import Path

import pytest

from made.plain_run import make_probe_run
from made.view import load_view
from weft.report.view import RunView


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made run on two nodes, each a host of its own."""
    return make_probe_run(tmp_path_factory.mktemp("hosts") / "run")


def on_hosts(run: Path, into: Path, *hosts: str) -> RunView:
    """The same run, its ranks dealt to these hosts."""
    shutil.copytree(run, into)
    for path in into.glob("launches/*.json"):
        record = json.loads(path.read_text())
        for rank in record.get("ranks", []):
            rank["host"] = hosts[rank["rank"] % len(hosts)]
        path.write_text(json.dumps(record))
    return load_view(into)


def test_nodes_that_share_a_host_are_told_and_nothing_is_claimed(two_nodes: Path, tmp_path: Path) -> None:
    view = on_hosts(two_nodes, tmp_path / "one", "vm")
    told = {row["what"] for row in view.findings if row["rule"] == "shared-host"}
    assert told == {
        "nodes share a host: 2 nodes ran on 1 host, vm: messages between them pass through its memory, not the network"
    }
    assert (view.grade, view.quality[0]["doubt"]) == ("D", "host")
    assert {each["id"].partition(".")[2] for each in view.claimed("answer")} <= {"inconclusive", "strong", "weak"}
    assert not view.claimed("remedy")


def test_nodes_that_are_hosts_of_their_own_are_not_doubted(two_nodes: Path, tmp_path: Path) -> None:
    view = on_hosts(two_nodes, tmp_path / "two", "a", "b")
    assert "host" not in {row["doubt"] for row in view.quality}
    assert not [row for row in view.findings if row["rule"] == "shared-host"]
