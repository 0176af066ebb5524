# SPDX-License-Identifier: BSD-3-Clause
"""Every kept run, and runs of pairs with and without an outlier, through every output of ``weft show``."""

from pathlib import Path
from typing import get_args

import pytest

from made.kept import copy_of, kept_runs, make_tables_of
from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.view import load_view
from weft.analyse.claims.make import write_claims
from weft.analyse.tables.claims import QUALITY, QualityRow
from weft.errors import DataError
from weft.report.tables import Format, all_tables, print_view, render
from weft.report.view import RunView
from weft.report.view import load_view as load_as_it_is
from weft.text import console

CLUSTER = Cluster(8, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)
CABLE = CLUSTER.link("leaf1", "pod0-spine0")
FAULTS = {"healthy": None, "cable": Faults(links={CABLE: 4.0}), "node": Faults(senders={5: 2.0})}
PAIRS = [*((name, "A") for name in FAULTS), ("node", "D")]


def pairs_view(folder: Path, name: str, grade: str) -> RunView:
    path = make_pairs_run(folder / "run", CLUSTER, FAULTS[name], modes={"isolated": 1.0, "all": 1.5})
    view = load_view(path)
    if grade == "D":
        QUALITY.write(
            path,
            [
                QualityRow(
                    doubt="steal", grade="D", count=1, of=1, share=1.0, noun="", worst=None, launches=None, turns=""
                )
            ],
        )
        write_claims(path, view.plan, view.rows)
        view = load_as_it_is(path)
    assert (view.grade == "D") is (grade == "D")
    return view


def check_every_output(view: RunView) -> None:
    """No output raises; none has a table whose rows are not as long as its headings."""
    for table in all_tables(view):
        assert {len(row) for row in table.rows} <= {len(table.columns)}
        assert table.words <= set(range(len(table.columns)))
    for width in (60, 80, 100, 120, 160, 200):
        out = console(width=width)
        with out.capture() as captured:
            print_view(view, out, every=True)
            print_view(view, out, every=False)
        assert captured.get()
    for form in get_args(Format):
        if form in ("osu", "reframe", "openmetrics") and not any(row["median_s"] for row in view.rows):
            with pytest.raises(DataError):
                render(view, form)
        else:
            assert render(view, form)


@pytest.mark.parametrize(("name", "grade"), PAIRS)
def test_a_run_of_pairs_is_printed_by_every_output(name: str, grade: str, tmp_path: Path) -> None:
    """A table without its last column still said that it had words: IndexError wherever no node was named."""
    check_every_output(pairs_view(tmp_path, name, grade))


@pytest.mark.parametrize("name", kept_runs())
def test_a_kept_run_is_printed_by_every_output(name: str, tmp_path: Path) -> None:
    folder = copy_of(name, tmp_path)
    make_tables_of(folder)
    check_every_output(load_view(folder))
