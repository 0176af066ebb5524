# SPDX-License-Identifier: BSD-3-Clause
"""Fitting named parameters: what is found, what is refused, and what is always told."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import DataError, StudyError
from weft.fabric import load_fabric
from weft.fit.inputs import MeasuredCell, parameters_named, read_cells, with_values
from weft.fit.run import bound_time, describe_fit, fit_cells
from weft.fit.squares import Floats, choose, fit, smallest_sight

TARA = """
name = "tara"
kind = "simulated"
[node]
names = "n[37-72]"
cores = 8
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "3.5 GB/s"
eager_limit = "16 KiB"
rendezvous_stall = "10 us"
[network.tree]
nodes_per_leaf = 18
uplinks = 18
link_rate = "4 GB/s"
"""
NODES = (1, 3, 9, 18, 36)
TABLE_4_2 = (1.14, 0.57, 0.25, 0.15, 0.11)
TABLE_4_4 = (1.14, 1.64, 2.09, 2.28, 2.30)
ALL = ["copy_rate", "adapter_rate", "rendezvous_stall"]
WORK = np.array([[7.0, 0.0, 0.0], [1.0, 6.0, 0.0], [0.5, 3.0, 2.0], [0.1, 1.0, 4.0], [0.0, 0.2, 5.0]])
NAMES = ("inside", "wide", "mixed", "small", "tiny")


def sums(theta: Floats, cells: Sequence[int]) -> Floats:
    """Times that add up: work of three kinds, over rates."""
    return (WORK / theta).sum(axis=1)[list(cells)]


@pytest.fixture
def tara(tmp_path: Path) -> Path:
    path = tmp_path / "tara.toml"
    path.write_text(TARA)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = ["nodes,ranks_per_node,n,m,seconds"]
    for nodes, strong, weak in zip(NODES, TABLE_4_2, TABLE_4_4, strict=True):
        rows += [f"{nodes},8,1492992,512,{strong}", f"{nodes},8,1492992,{512 * nodes},{weak}"]
    path = tmp_path / "cells.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_parameters_that_made_the_times_are_found_again() -> None:
    truth = np.array([2.0, 3.0, 0.5])
    found = fit(("a", "b", "c"), (1.0, 1.0, 1.0), NAMES, sums(truth, range(5)).tolist(), sums)
    assert list(found.parameters.values()) == pytest.approx(truth, rel=1e-3)
    assert found.leave_out_error < 1e-3


@given(st.tuples(*[st.floats(0.05, 20.0)] * 3), st.tuples(*[st.floats(0.2, 5.0)] * 3))
def test_where_a_fit_begins_does_not_decide_where_it_ends(truth: tuple[float, ...], begin: tuple[float, ...]) -> None:
    times = sums(np.array(truth), range(5)).tolist()
    try:
        found = fit(("a", "b", "c"), begin, NAMES, times, sums)
    except StudyError:
        return  # these truths cannot be told apart by any three cells, and the fit says so
    fitted = [cell for cell in found.cells if cell.fitted]
    assert max(abs(cell.error) for cell in fitted) < 0.01


def test_more_parameters_than_cells_are_refused() -> None:
    with pytest.raises(StudyError, match=r"3 parameters .* cannot be fitted to 2 cells"):
        fit(("a", "b", "c"), (1, 1, 1), NAMES[:2], (1.0, 1.0), sums)


def test_cells_that_do_not_see_a_parameter_are_refused_and_it_is_named() -> None:
    with pytest.raises(StudyError, match="do not see c"):
        fit(("a", "b", "c"), (1, 1, 1e9), NAMES, sums(np.array([1, 1, 1e9]), range(5)).tolist(), sums, (0, 1, 2))


def test_cells_that_cannot_tell_two_parameters_apart_are_refused() -> None:
    def twins(theta: Floats, cells: Sequence[int]) -> Floats:
        return np.array([1.0 / (theta[0] * theta[1])] * len(cells)) * (1 + np.array(cells))

    with pytest.raises(StudyError, match="cannot tell a and b apart"):
        fit(("a", "b"), (1, 1), ("x", "y", "z"), (1.0, 2.0, 3.0), twins)


def test_a_fit_to_all_cells_that_nothing_could_disprove_is_refused() -> None:
    times = sums(np.array([1.0, 1.0, 1.0]), (0, 1, 3)).tolist()

    def three(theta: Floats, cells: Sequence[int]) -> Floats:
        return sums(theta, [(0, 1, 3)[cell] for cell in cells])

    with pytest.raises(StudyError, match="no cell is left to test the fit"):
        fit(("a", "b", "c"), (2, 2, 2), ("inside", "wide", "small"), times, three)


def test_a_fitted_cell_is_also_left_out_where_the_others_suffice() -> None:
    times = sums(np.array([1.0, 2.0, 1.0]), range(5))
    times[2] *= 1.2
    found = fit(("a", "b", "c"), (1, 1, 1), NAMES, times.tolist(), sums, (0, 1, 2, 3, 4))
    assert found.left_out["mixed"] == pytest.approx(1 / 1.2 - 1, abs=0.02)
    assert found.leave_out_error > max(abs(cell.error) for cell in found.cells) / 5


def test_the_cells_chosen_are_better_than_most_triples() -> None:
    theta = np.array([1.0, 1.0, 1.0])
    chosen = choose(("a", "b", "c"), theta, NAMES, sums)
    assert {NAMES[i] for i in chosen} == {"inside", "wide", "tiny"}


def test_too_few_cells_have_no_sight() -> None:
    assert smallest_sight(np.ones((2, 3))) == 0.0


def test_slopes_may_come_from_a_cheaper_model_than_the_times() -> None:
    calls = 0

    def costly(theta: Floats, cells: Sequence[int]) -> Floats:
        nonlocal calls
        calls += 1
        return 1.1 * sums(theta, cells)

    times = sums(np.array([2.0, 3.0, 0.5]), range(5)).tolist()
    found = fit(("a", "b", "c"), (1, 1, 1), NAMES, times, costly, slopes=sums)
    assert list(found.parameters.values()) == pytest.approx([2.2, 3.3, 0.55], rel=1e-3)
    assert calls < 12


def test_a_time_of_zero_is_no_time() -> None:
    with pytest.raises(DataError, match="cell wide has no time"):
        fit(("a",), (1,), NAMES, (1.0, 0.0, 1.0, 1.0, 1.0), sums)


def test_tara_is_predicted_by_the_closed_form_within_ten_per_cent(tara: Path, table: Path) -> None:
    found = fit_cells(load_fabric(tara), read_cells(table, "C"), ALL, [], simulate=False)
    predicted = [abs(cell.error) for cell in found.cells if not cell.fitted]
    assert len(predicted) == 6
    assert max(predicted) < 0.10
    assert np.mean(predicted) < 0.05
    assert found.parameters["copy_rate"] == pytest.approx(5.36e9, rel=0.01)


def test_one_cell_inside_a_node_one_bound_by_bytes_and_one_by_messages_are_chosen(tara: Path, table: Path) -> None:
    found = fit_cells(load_fabric(tara), read_cells(table, "C"), ALL, [], simulate=False)
    fitted = [cell.name for cell in found.cells if cell.fitted]
    assert fitted == ["N=1 m=512", "N=36 m=512", "N=36 m=18432"]


def test_cells_that_are_all_bound_by_their_bytes_are_refused(tara: Path, table: Path) -> None:
    with pytest.raises(StudyError, match=r"do not see|cannot tell"):
        fit_cells(
            load_fabric(tara),
            read_cells(table, "C"),
            ALL,
            ["N=9 m=4608", "N=18 m=9216", "N=36 m=18432"],
            simulate=False,
        )


def test_an_unknown_cell_and_an_unknown_parameter_are_named(tara: Path, table: Path) -> None:
    with pytest.raises(StudyError, match='no cell "N=2"'):
        fit_cells(load_fabric(tara), read_cells(table, "C"), ALL, ["N=2"], simulate=False)
    with pytest.raises(StudyError, match='"colour" cannot be fitted'):
        fit_cells(load_fabric(tara), read_cells(table, "C"), ["colour"], [], simulate=False)


def test_what_is_printed_says_of_each_cell_whether_it_was_fitted(tara: Path, table: Path) -> None:
    from rich.console import Console

    found = fit_cells(load_fabric(tara), read_cells(table, "C"), ALL, [], simulate=False)
    console = Console(width=120, record=True, file=(table.parent / "out").open("w"))
    console.print(describe_fit(found, "tara", simulated=False))
    text = console.export_text()
    assert text.count("│ fitted") == 3
    assert text.count("predicted") == 6
    assert "mean error on cells the fit had not seen" in text


def test_the_same_cell_in_two_tables_counts_once(table: Path) -> None:
    cells = read_cells(table)
    assert len(cells) == 9
    assert cells[0].seconds == 1.14


def test_calls_that_are_not_asked_for_are_no_cells_of_a_fit(tmp_path: Path) -> None:
    # A run of the study `contention` has A, B and C of every cell, and all were fitted as one.
    path = tmp_path / "t.csv"
    rows = [f"{nodes},8,1492992,512,{call},0.5" for nodes in (1, 3) for call in "ABC"]
    path.write_text("\n".join(["nodes,ranks_per_node,n,m,call,seconds", *rows]) + "\n")
    assert [cell.call for cell in read_cells(path, "C")] == ["C", "C"]
    assert [cell.call for cell in read_cells(path, "BC")] == ["B", "C", "B", "C"]
    path.write_text("\n".join(["nodes,ranks_per_node,n,m,call,seconds", rows[0]]) + "\n")
    with pytest.raises(DataError, match="no cell of call C") as caught:
        read_cells(path, "C")
    assert "--calls A" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes,ranks_per_node,n,m\n1,8,1,1\n", "seconds"),
        ("nodes,ranks_per_node,n,m,seconds\n1,8,x,1,1\n", "cell 1: n:"),
        ("nodes,ranks_per_node,n,m,seconds\n1,8,1,1,-1\n", "cell 1: seconds"),
        ("", "holds no cells"),
    ],
)
def test_a_bad_table_says_which_cell_and_what(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_cells(path)


def test_small_blocks_do_not_pay_for_the_rendezvous(tara: Path) -> None:
    fabric = load_fabric(tara)
    dear = with_values(fabric, parameters_named(["rendezvous_stall"]), [1.0])
    small = MeasuredCell(nodes=3, ranks_per_node=8, n=24 * 24, m=8, seconds=1)
    large = MeasuredCell(nodes=3, ranks_per_node=8, n=24 * 24, m=4096, seconds=1)
    assert bound_time(dear, small) == bound_time(fabric, small)
    assert bound_time(dear, large) == pytest.approx(bound_time(fabric, large) + 16.0, rel=1e-3)
