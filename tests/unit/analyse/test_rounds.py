# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of a plain exchange stand beside the link that each fills longest, on a network read from a dump too."""

from pathlib import Path

import pytest

from weft.analyse.breakdown import round_rows
from weft.analyse.tables.breakdown import TurnRow
from weft.bound.links import fullest_links
from weft.fabric import load_fabric
from weft.host import Host, Limit
from weft.kernel.steps import ROUNDS
from weft.kernel.studies import load_study
from weft.plan.make import make_plan
from weft.plan.records import Plan

CABLES = """a,b,rate
leaf0,n0,2 GB/s
leaf0,n1,2 GB/s
leaf1,n2,2 GB/s
leaf1,n3,2 GB/s
leaf0,spine,1 GB/s
leaf1,spine,1 GB/s
"""
FABRIC = """
name = "dumped"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 1
memory = "24 GiB"
copy_rate = "5 GB/s"
[network]
topology = "dump"
latency = "1 us"
adapter_rate = "2 GB/s"
[network.dump]
file = "cables.csv"
"""
STUDY = """
name = "rounds"
kernel = "exchange"
explain = true
[exchange]
calls = ["C"]
[[series]]
name = "s"
nodes = [4]
ranks_per_node = 1
n = 1600
m = 100
"""


def planned(folder: Path) -> Plan:
    """A plan on a network of four nodes under two leaves, whose dump is then gone, as in the folder of a run."""
    for name, text in (("cables.csv", CABLES), ("fabric.toml", FABRIC), ("study.toml", STUDY)):
        (folder / name).write_text(text)
    host = Host("made", 1, 1 << 34, (Limit(1 << 34, "MemAvailable"),))
    plan = make_plan(load_study(folder / "study.toml"), load_fabric(folder / "fabric.toml"), predict=False, host=host)
    (folder / "cables.csv").unlink()
    return Plan.model_validate_json(plan.model_dump_json())


def turns(plan: Plan) -> list[TurnRow]:
    same = {"cell": plan.measured[0].id, "launch": 1, "call": "C", "step": ROUNDS, "total_s": 1.0, "samples": 1}
    return [TurnRow(**same, place=place, seconds=0.1 * place) for place in range(4)]  # pyright: ignore[reportArgumentType]


def test_the_links_of_rounds_are_known_after_the_dump_is_gone(tmp_path: Path) -> None:
    """Only a run's page had no picture of them: the dump was asked for when tables were made."""
    plan = planned(tmp_path)
    rows = round_rows(turns(plan), plan)
    block = plan.measured[0].block_bytes
    assert [row["link_s"] for row in rows] == pytest.approx([0.0, block / 1e9, 2 * block / 1e9, block / 1e9])
    assert all("leaf" in row["link"] for row in rows[1:])


def test_routes_of_a_real_fabric_are_known_by_its_forwarding_tables_alone(tmp_path: Path) -> None:
    for name, text in (("cables.csv", CABLES), ("fabric.toml", FABRIC.replace("simulated", "slurm"))):
        (tmp_path / name).write_text(text)
    fabric = load_fabric(tmp_path / "fabric.toml")
    assert fabric.network is not None
    assert not fabric.network.has_tables
    cell = planned(tmp_path).measured[0]
    assert fullest_links(cell, "block", fabric) == []
    assert fabric.network.dump is not None
    told = fabric.network.model_copy(update={"dump": fabric.network.dump.model_copy(update={"tables": "lfts"})})
    assert told.has_tables
