# SPDX-License-Identifier: BSD-3-Clause
"""Published all-to-alls: the facts are whole, their machines can be planned, and two factors are found again."""

from collections.abc import Sequence
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
    fitted_of,
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
    fitted = fitted_of(cells)
    assert [(cell.nodes, cell.block_bytes) for cell in fitted] == [(2, FITTED_BLOCKS[0]), (8, FITTED_BLOCKS[1])]
    assert fitted_factors(fitted) == pytest.approx([0.8, 1.5], rel=1e-3)
    assert figures(from_two(cells))["worst"] == pytest.approx(0, abs=1e-3)
    assert figures(cells)["worst"] > 0.2
    assert figures(cells)["inside"] == 1


def published_times(factors: Sequence[float], nodes: int = 2, first: int = 64) -> list[PublishedCell]:
    """Cells of rising blocks whose published times are these multiples of the simulated ones."""
    blocks = [first << at for at in range(len(factors))]
    return [
        PublishedCell(nodes, block, factor, 1.0, 0.5, 0, 9, "") for block, factor in zip(blocks, factors, strict=True)
    ]


@pytest.mark.parametrize(
    ("first", "factors", "missed", "term", "where"),
    [
        (1024, [1, 1, 1.5, 1.5], 3, "rendezvous", "N=2, 2 KiB to 4 KiB: published x1.50, simulated x1.00"),
        (8, [0.7, 0.7, 1, 1], 0, "algorithm switch", "N=2, 16 B to 32 B"),
        (65536, [1, 1, 0.7], 2, "copies and adapter sharing", "N=2, 128 KiB to 256 KiB"),
        (4096, [1.3, 1.3, 1.3], 1, "cost of a message", "at all blocks"),
    ],
)
def test_the_missing_term_is_found_where_the_table_leaves_the_model(
    first: int, factors: list[float], missed: int, term: str, where: str
) -> None:
    cells = published_times(factors, first=first)
    found, place = missing_term(cells[missed], cells)
    assert found.startswith(term)
    assert place.startswith(where)


def test_a_term_that_more_nodes_bring_is_named_by_them() -> None:
    cells = [*published_times([1, 1]), *published_times([1.4, 1.4], nodes=8)]
    assert missing_term(cells[2], cells) == (
        "cost of a message in this library",
        "N=2 to 8, 64 B: published x1.40, simulated x1.00",
    )
