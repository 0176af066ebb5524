# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft show`` prints in each format: the papers' tables, with intervals, statuses and bounds."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from made.run import Made, make_run, tara_like
from made.view import load_view
from weft.cli.app import main
from weft.errors import NotThereError
from weft.report.card import card_of
from weft.report.export import FIELDS, latex_table
from weft.report.html import parts
from weft.report.intervals import bound_text, interval_heading, interval_meaning
from weft.report.page import all_figures
from weft.report.tables import all_tables, fitting, render, shortened
from weft.report.tabular import Table
from weft.report.view import RunView
from weft.text import latex

FAILED = {("c007", launch): "crash" for launch in (1, 2, 3)}


@pytest.fixture(scope="module")
def tara(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """A made run on the papers' 36 nodes, one cell of which crashed."""
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "tara", tara_like(failures=FAILED, fitted=True)))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """A made run on one host of two cores."""
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "local"))


def table(view: RunView, start: str) -> Table:
    return next(table for table in all_tables(view) if table.title.startswith(start))


def row(table: Table, start: str, index: int = 0) -> tuple[str, ...]:
    return [row for row in table.rows if row[0].strip().startswith(start)][index]


def test_the_memory_tables_are_the_papers(tara: RunView) -> None:
    """Tables 4.1 and 4.3 to the digit."""
    strong, weak = table(tara, "constant-global: memory"), table(tara, "constant-local: memory")
    assert strong.columns == ("Nodes N", "1", "3", "9", "18", "36")
    assert row(strong, "Memory")[1:] == ("6 GB",) * 5
    assert row(strong, "Memory", 1)[1:] == ("729 MB", "243 MB", "81 MB", "41 MB", "20 MB")
    assert row(strong, "Memory", 2)[1:] == ("93,312 kB", "10,368 kB", "1,152 kB", "288 kB", "72 kB")
    assert row(weak, "Memory")[1:] == ("6 GB", "17 GB", "51 GB", "103 GB", "205 GB")
    assert row(weak, "Memory", 2)[1:] == ("93,312 kB", "31,104 kB", "10,368 kB", "5,184 kB", "2,592 kB")


def test_series_of_the_same_columns_share_a_table_of_times(tara: RunView) -> None:
    times = table(tara, "Time of C. MPI_Alltoallv(m-vector)")
    assert times.rows[0] == ("Processes p", "8", "24", "72", "144", "288")
    assert [row[0].strip() for row in times.rows[1:]] == [
        "m = 512 (constant-global)", "at least", "samples", "m = 512 N (constant-local)", "at least", "samples",
    ]  # fmt: skip
    assert all(re.fullmatch(r"[\d.]+ (s|ms)", cell) for cell in times.rows[1][1:])
    assert row(times, "at least")[1].endswith("s, memory copy")
    assert row(times, "at least")[5].endswith("ms, injection")


def test_a_failed_cell_stands_in_its_place_with_its_status(tara: RunView) -> None:
    assert row(table(tara, "Time of C"), "m = 512 N")[4] == "crash"
    calls = table(tara, "constant-local, m = 512 N: first call")
    assert row(calls, "B. MPI_Alltoallv(int), cold")[4] == "crash"


def test_the_calls_are_shown_cold_and_warm(local: RunView) -> None:
    calls = table(local, "constant-global, m = 512: first call")
    assert [row[0] for row in calls.rows[1:]] == [
        f"{call}, {phase}"
        for call in ("A. MPI_Alltoall(int)", "B. MPI_Alltoallv(int)", "C. MPI_Alltoallv(m-vector)")
        for phase in ("cold", "warm")
    ]


def test_a_bound_that_a_sample_beat_says_so_wherever_it_stands(tmp_path: Path) -> None:
    """At p = 1 a bound of 2.91 ms stood under a time of 2.77 ms as if it held."""
    view = load_view(make_run(tmp_path / "run"))
    held = bound_text(next(each for each in view.rows if each["bound_s"]))
    for each in view.rows:
        each["bound_s"], each["bound"] = 1.5 * (each["min_s"] or 1.0), "memory copy"
    told = set(row(table(view, "Time of C"), "at least")[1:])
    assert told and all(cell.endswith("s, memory copy (wrong: a sample beat it)") for cell in told)
    assert "wrong" not in held
    assert parts(min(told))[1] == "memory copy (wrong: a sample beat it)"
    (figure,) = [each for each in all_figures(view) if each.name == "time-constant-global"]
    sets = [rows for panel in figure.specifications() for rows in panel["datasets"].values()]
    drawn = [point for rows in sets for point in rows if "limit" in point]
    assert drawn and all(point["bound"] is None and "wrong" in point["limit"] for point in drawn)
    bars = view.story.bars(view)
    assert bars and all(bar.bound_s is None for bar in bars)


def test_points_with_more_ranks_than_cores_carry_a_star(local: RunView) -> None:
    assert table(local, "Time of C").rows[0] == ("Processes p", "1", "2", "4 *")


def test_everything_simulated_says_so(tara: RunView, local: RunView) -> None:
    assert all("(simulated)" in table.title for table in all_tables(tara))
    assert render(tara, "text").splitlines()[0].endswith(" · simulated")
    assert "simulated" not in render(local, "text")


def test_a_virtual_network_says_so_too(tmp_path: Path) -> None:
    view = load_view(make_run(tmp_path / "run", tara_like(kind="virtual", samples=3)))
    assert all("(virtual network)" in table.title for table in all_tables(view))


def test_the_text_starts_with_the_verdict_and_ends_with_remedies(tara: RunView) -> None:
    text = render(tara, "text")
    assert card_of(tara).rows[0].label in text[:500]
    assert "error: cell c007, N = 18, p = 144, m = 9216: crash" in text
    assert "-> repeat the same `weft run`" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 120


def test_a_table_too_wide_breaks_its_intervals_into_lines_of_their_own() -> None:
    wide = Table("t", ("N", "1"), (("m", "1.00 s (0.99–1.01)"), ("at least", "0.5 s, memory copy"), ("p", "1,024")))
    assert fitting(wide, 100) is wide
    assert [row[1] for row in fitting(wide, 20).rows] == ["1.00 s\n(0.99–1.01)", "0.5 s\nmemory copy", "1,024"]


def test_markdown_has_every_table(local: RunView) -> None:
    text = render(local, "md")
    assert text.startswith("# made on made-host")
    assert text.count("| --- | ---:") == len(all_tables(local))


def test_each_time_says_what_its_interval_is(local: RunView, tara: RunView) -> None:
    assert table(local, "Time of C").title.endswith("median (range)")
    assert table(tara, "Time of C").title.endswith("median (simulated)")
    said = interval_meaning(local.rows)
    assert re.findall(r"\d+", said) == ["3", "75"], "launches, and how often the range holds the median, in per cent"
    assert said in render(local, "latex")
    assert said in " ".join(render(local, "text").split())
    assert interval_meaning(tara.rows) in render(tara, "md")
    assert not re.search(r"\d", interval_meaning(tara.rows)), "a model gives the same time again"


def test_csv_has_a_line_for_each_cell_call_and_phase(tara: RunView) -> None:
    lines = list(csv.DictReader(io.StringIO(render(tara, "csv"))))
    assert len(lines) == len(tara.rows) == 9 * 3 * 2
    crashed = next(line for line in lines if line["cell"] == "c007")
    assert (crashed["status"], crashed["median_s"], crashed["samples"]) == ("crash", "", "0")
    good = next(line for line in lines if (line["cell"], line["call"], line["phase"]) == ("c000", "C", "warm"))
    assert (good["low_s"], good["interval"]) == ("", "none"), "a model gives the same time again"
    assert good["series"] == "constant-global constant-local"


def test_the_json_is_what_the_docs_describe(tara: RunView, local: RunView) -> None:
    value: dict[str, Any] = json.loads(render(tara, "json"))
    assert value["schema"] == "weft-show/1"
    assert value["simulated"] is True
    assert (value["kind"], value["fabric"], value["mpi"]) == ("simulated", "made-cluster", "Open MPI v5.0.11")
    assert [set(row) for row in value["rows"]] == [set(FIELDS)] * 54
    promised = {
        "nodes",
        "ranks",
        "n",
        "m",
        "call",
        "phase",
        "median_s",
        "low_s",
        "high_s",
        "samples",
        "status",
        "bound_s",
        "bound",
    }
    assert promised <= set(FIELDS)
    crashed = next(row for row in value["rows"] if row["cell"] == "c007")
    assert crashed["median_s"] is None
    assert {verdict["kind"]: verdict["outcome"] for verdict in value["verdicts"]} == {
        "strong": "falls",
        "weak": "rises",
    }
    assert value["floor"] == []  # a simulation has none
    floor = json.loads(render(local, "json"))["floor"]
    page = (Path(__file__).parents[3] / "docs" / "dev" / "show-json.md").read_text()
    assert all(f"`{name}`" in page for name in (*FIELDS, *value, *value["verdicts"][0], *floor[0]))


def test_latex_escapes_what_latex_would_take_for_commands() -> None:
    assert latex(r"50 % of $x_i & {#} \ ~ ^") == (
        r"50 \% of \$x\_i \& \{\#\} \textbackslash{} \textasciitilde{} \textasciicircum{}"
    )
    text = latex_table(Table("l_n", ("Nodes N", "1"), (("p", "8"), ("t", "50.0 µs (49–51)"))))
    assert r"\caption{l\_n.}" in text
    assert r"t & 50.0 $\mu$s (49--51) \\" in text
    assert r"\begin{tabular}{lr}" in text


def test_show_brings_tables_up_to_date_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    assert main(["show", str(run), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["status"] == "ok"
    for path in (run / "cells").glob("c000.*"):
        path.unlink()
    assert main(["show", str(run), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["status"] == "planned"


def test_show_of_a_folder_that_is_no_run_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path)]) == NotThereError.exit_code == 2
    error = capsys.readouterr().err
    assert "is not a run folder" in error
    assert "Traceback" not in error


def test_show_of_a_torn_cell_names_the_file_and_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    (run / "cells" / "c001.l2.npy").write_bytes(b"torn")
    assert main(["show", str(run)]) == 1
    error = capsys.readouterr().err
    assert "c001.l2.npy" in error
    assert "weft run" in error
    assert "Traceback" not in error


def test_a_run_with_nothing_measured_is_shown_all_the_same(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    for path in (run / "cells").iterdir():
        path.unlink()
    for path in (run / "launches").iterdir():
        path.unlink()
    view = load_view(run)
    assert view.claimed("answer")[0]["id"] == "contention.inconclusive"
    assert "planned" in render(view, "text")


@pytest.mark.parametrize(("rows", "printed"), [(60, 60), (61, 41), (500, 41)])
def test_a_long_table_is_shown_by_its_ends(rows: int, printed: int) -> None:
    table = Table("T", ("name", "time"), tuple((f"r{row}", "1 s") for row in range(rows)))
    names = [row[0] for row in shortened(table).rows]
    assert len(names) == printed
    assert names[:20] == [f"r{row}" for row in range(20)]
    assert names[-20:] == [f"r{row}" for row in range(rows - 20, rows)]
    assert ("..." in names) == (rows > 60)


def test_a_column_with_exact_times_and_ranges_is_headed_by_what_its_brackets_are() -> None:
    """A dragonfly's short call repeats exactly, its long one has the range of the model: it read "interval"."""
    rows = [{"interval": "none"}, {"interval": "range of the model"}]
    assert interval_heading(rows) == "median (range of the model)"
    assert interval_heading(rows[:1]) == "median"
    assert interval_heading([*rows, {"interval": "over launches"}]) == "median (interval)"
