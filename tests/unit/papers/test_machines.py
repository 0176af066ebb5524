# SPDX-License-Identifier: BSD-3-Clause
"""Published all-to-alls: the facts are whole, their machines can be planned, and two factors are found again."""

from pathlib import Path

import pytest

from weft.analyse.ranges import is_unfitted
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.papers import published
from weft.papers.machines import (
    FITTED_BLOCKS,
    PublishedCell,
    figures,
    fitted_factors,
    from_two,
    missing_term,
    write_inputs,
)
from weft.plan.make import make_plan

MACHINES = published("machines")


@pytest.mark.parametrize("name", MACHINES)
def test_each_machine_has_a_time_for_each_size_and_can_be_simulated(name: str, tmp_path: Path) -> None:
    facts = MACHINES[name]
    assert all(len(times) == len(facts["bytes"]) for times in facts["us"].values())
    study, fabric = write_inputs(name, facts, tmp_path)
    machine = load_fabric(fabric)
    assert is_unfitted(machine)
    plan = make_plan(load_study(study), machine)
    assert {str(cell.nodes) for cell in plan.measured} == set(facts["us"])
    assert {cell.status for cell in plan.measured} == {"planned"}


def made(nodes: int, block: int, factors: tuple[float, float] = (0.8, 1.5), algorithm: str = "ring") -> PublishedCell:
    bytes_s, messages_s = nodes * block / 1e9, nodes * 2e-6
    truth = factors[0] * bytes_s + factors[1] * messages_s
    return PublishedCell(nodes, block, truth, bytes_s + messages_s, bytes_s, 0.5 * truth, 2 * truth, algorithm)


def test_factors_of_two_cells_predict_what_differs_by_them_alone() -> None:
    cells = [made(nodes, block) for nodes in (2, 8) for block in (*FITTED_BLOCKS, 4096)]
    assert fitted_factors(cells[:2]) == pytest.approx([0.8, 1.5], rel=1e-3)
    others = from_two(cells)
    assert len(others) == 4
    assert figures(others)["worst"] == pytest.approx(0, abs=1e-3)
    assert figures(cells)["worst"] > 0.2
    assert figures(cells)["inside"] == 1


@pytest.mark.parametrize(
    ("cell", "term"),
    [
        (made(8, 2**20, (0.5, 1.0)), "copies and adapter sharing"),
        (made(8, 64, (1.0, 0.5)), "algorithm switch"),
        (made(8, 64, (1.0, 0.5), "basic_linear"), "cost of a message"),
        (made(8, 1024, (1.0, 2.0)), "rendezvous"),
    ],
)
def test_the_missing_term_is_named_by_the_part_that_errs(cell: PublishedCell, term: str) -> None:
    assert missing_term(cell).startswith(term)
