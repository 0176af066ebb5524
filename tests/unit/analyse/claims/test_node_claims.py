# SPDX-License-Identifier: BSD-3-Clause
"""What nodes say of themselves, as claims: faults of single nodes, and what is only told."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from made.check_run import report_of
from weft.analyse.claims.make import Known
from weft.analyse.claims.nodes import find_node_facts, find_node_faults
from weft.analyse.tables.claims import extras
from weft.plan.records import Plan
from weft.store.rows import NODE_REPORTS, RANK_TABLE, NodeReportRow, RankRow
from weft.words.card import say

NODES = 16


def known(root: Path, changed: dict[int, dict[str, Any]], ranks: tuple[str, ...] = ("0-3",)) -> Known:
    """A run whose nodes report as healthy ones do, with changes by number; ``ranks`` of each node by their CPUs."""
    reports = [report_of(number, f"n{number}") | changed.get(number, {}) for number in range(NODES)]
    rows = [
        each | {"launch_id": "L001", **{key: json.dumps(each[key]) for key in ("errors", "rates")}} for each in reports
    ]
    NODE_REPORTS.write(root, [cast(NodeReportRow, row) for row in rows])
    RANK_TABLE.write(root, [
        cast(RankRow, {"launch_id": "L001", "rank": 10 * number + place, "host": f"n{number}", "node": number,
                       "local_rank": place, "cpus": cpus, "core": 0})
        for number in range(NODES) for place, cpus in enumerate(changed.get(number, {}).get("ranks", ranks))
    ])  # fmt: skip
    return Known(root, cast(Plan, None), [])


FAULTS: dict[str, dict[str, Any]] = {
    "memory": {"copy_ns": 720_000},
    "processor": {"loop_ns": 400_000},
    "waiting": {"waited_ns": 3 * 10**8},
    "tcp": {"network_sent": 10**9, "adapter_sent": 2000},
    "adapter": {"rates": {"mlx5_0/1": "50 Gb/sec"}},
    "library": {"mpi": "Made MPI 0"},
    "core": {"cpus": 1},
    "cores": {"ranks": ("3", "3", "4")},
}


@pytest.mark.parametrize("of", FAULTS)
def test_a_fault_of_one_node_is_named(tmp_path: Path, of: str) -> None:
    found = find_node_faults(known(tmp_path, {3: FAULTS[of]}))
    assert [(each["subject"], extras(each)["of"]) for each in found] == [("n3", of)]
    assert "n3" in say(found[0]).value


def test_healthy_nodes_have_no_fault(tmp_path: Path) -> None:
    assert find_node_faults(known(tmp_path, {})) == []
    assert [each["id"] for each in find_node_facts(known(tmp_path, {}))] == ["start.mpi"]


def test_how_much_slower_copies_are_is_the_factor_over_the_median(tmp_path: Path) -> None:
    (found,) = find_node_faults(known(tmp_path, {3: {"copy_ns": 800_000}}))
    assert found["value"] == pytest.approx(2.0, rel=0.02)
    assert extras(found)["rate"] == pytest.approx(2**22 / 8e-4)


def test_nodes_of_two_kinds_are_no_faults(tmp_path: Path) -> None:
    """Half of the nodes are of another generation."""
    other = {"copy_ns": 700_000, "mpi": "B", "rates": {"mlx5_0/1": "200 Gb/sec"}, "cpus": 64}
    assert find_node_faults(known(tmp_path, dict.fromkeys(range(8), other))) == []


def test_where_all_nodes_share_cores_the_one_that_waits_most_is_no_fault(tmp_path: Path) -> None:
    """Of eight made-up hosts on two cores the one beside the launcher waited for 93 % of the check, others for 79 %."""
    waits = {number: {"waited_ns": 79 * 10**7} for number in range(NODES)} | {0: {"waited_ns": 93 * 10**7}}
    assert find_node_faults(known(tmp_path, waits)) == []


def test_all_nodes_on_tcp_with_an_idle_adapter_are_named(tmp_path: Path) -> None:
    """Not only those that differ from their peers."""
    found = find_node_faults(known(tmp_path, dict.fromkeys(range(NODES), FAULTS["tcp"])))
    assert [extras(each)["of"] for each in found] == ["tcp"] * NODES


def test_nodes_without_an_adapter_are_not_asked_for_one(tmp_path: Path) -> None:
    plain = {"adapters": 0, "adapter_sent": 0, "network_sent": 10**10, "rates": {"eth0": "25000 Mb/s"}}
    assert find_node_faults(known(tmp_path, dict.fromkeys(range(NODES), plain))) == []


def test_what_nodes_count_and_run_is_told(tmp_path: Path) -> None:
    changed = {
        4: {"errors": {"mlx5_0/1 symbol_error": 12, "eth0 rx_errs": 1}}, 5: {"kernel": "5.14.0"},
        6: {"began_ns": 10**18 + 4 * 10**9}, 7: {"errors": {"tcp retransmissions": 900}},
    }  # fmt: skip
    run = known(tmp_path, changed)
    assert find_node_faults(run) == []
    facts = {each["id"]: each for each in find_node_facts(run)}
    assert {key: each["subject"] for key, each in facts.items()} == {
        "start.mpi": "n6", "start.kernel": "n5", "counted.errors": "n4", "counted.retransmissions": "n7"
    }  # fmt: skip
    assert facts["counted.errors"]["value"] == 13
    assert extras(facts["counted.errors"])["what"] == "mlx5_0/1 symbol_error"
    assert extras(facts["start.mpi"])["late_s"] == pytest.approx(4, abs=0.2)
    assert all(facts[key]["subject"] in say(facts[key]).text for key in facts)


def test_a_few_retransmissions_everywhere_are_not_told(tmp_path: Path) -> None:
    again = {number: {"errors": {"tcp retransmissions": 150}} for number in range(NODES)}
    assert [each["id"] for each in find_node_facts(known(tmp_path, again))] == ["start.mpi"]
