# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft plan`` prints, against the papers' Tables 4.1 and 4.3, and against what they measured."""

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from weft.cli.app import main
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.report.plan_tables import memory_tables, paper_sizes

FACTS = tomllib.loads((Path(__file__).parents[2] / "data" / "tara.toml").read_text())


def planned(study: str) -> Plan:
    return make_plan(load_study(study), load_fabric("tara"))


def column(values: list[int], unit: str = "") -> tuple[str, ...]:
    return tuple(f"{value:,}{unit}" for value in values)


@pytest.mark.parametrize(
    ("study", "facts"), [("tara-constant-global", "constant_global"), ("tara-constant-local", "constant_local")]
)
def test_the_memory_tables_of_the_papers_are_printed_to_the_digit(study: str, facts: str) -> None:
    (table,) = memory_tables(planned(study))
    printed: dict[str, Any] = FACTS["memory"][facts]
    assert table.columns == ("Nodes N", *column(FACTS["experiment"]["nodes"]))
    assert [row[1:] for row in table.rows] == [
        column(FACTS["experiment"]["processes"]),
        column(printed["m"]),
        column([FACTS["experiment"]["n"]] * 5),
        column(printed["global_gb"], " GB"),
        column(printed["local_length"]),
        column(printed["local_mb"], " MB"),
        column(printed["block_length"]),
        column(printed["block_kb"], " kB"),
    ]


@pytest.mark.parametrize(
    ("study", "facts"),
    [("tara-constant-global", "constant_global_m512"), ("tara-constant-local", "constant_local_m512N")],
)
def test_no_time_of_the_papers_is_below_its_lower_bound(study: str, facts: str) -> None:
    for cell, seconds in zip(planned(study).measured, FACTS["seconds"][facts], strict=True):
        assert cell.bound
        assert cell.bound.seconds < seconds + 0.005  # printed to two digits
        assert cell.bound.seconds > 0.4 * seconds
        assert cell.bound.name == ("memory copy" if cell.nodes == 1 else "injection")


def test_the_papers_sizes_are_rounded_half_up() -> None:
    assert paper_sizes([81 * 2**19, 2**20 + 2**19 - 1], "MB") == ["41 MB", "1 MB"]


def test_sizes_too_small_for_the_papers_unit_take_a_smaller_one() -> None:
    assert paper_sizes([64 * 2**20, 3 * 2**30], "GB") == ["64 MB", "3,072 MB"]
    assert paper_sizes([0, 8], "kB") == ["0 B", "8 B"]


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["plan", *words]) == 0
    return capsys.readouterr().out


def test_the_terminal_shows_memory_cells_bounds_and_duration(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "tara-constant-local", "--on", "tara")
    for words in (
        "205 GB",
        "93,312 kB",
        "injection",
        "memory copy",
        "1.14 s",
        "5 launches: about",
        "of processor time, ",
    ):
        assert words in text


def test_cells_that_cannot_run_are_shown_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "tara-constant-global", "--on", "local")
    assert "c004: fabric: 36 nodes asked for, fabric local has 1" in text
    assert "5 of 5 cells cannot run" in text


def test_markdown_csv_and_json_hold_the_same_cells(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("tara-constant-local", "--on", "tara", "--format")
    assert "| c004 | 36 | 8 | 288 | 18,432 |" in output(capsys, *words, "md")
    rows = list(csv.DictReader(io.StringIO(output(capsys, *words, "csv"))))
    cells = json.loads(output(capsys, *words, "json"))["cells"]
    sizes = [cell["array_bytes"] for cell in cells if cell["kernel"] == "exchange"]
    assert [int(row["array_bytes"]) for row in rows] == sizes
    assert [float(row["bound_s"]) for row in rows] == [cell["bound"]["seconds"] for cell in cells if cell["bound"]]


def test_sweeps_over_sizes_are_shown_by_their_call_and_their_largest_size(capsys: pytest.CaptureFixture[str]) -> None:
    collectives = output(capsys, "biruni-collectives", "--on", "biruni-ethernet", "--format", "md")
    assert "| cell | N | r | p | what | up to |" in collectives
    assert "| c001 | 2 | 8 | 16 | alltoall, 21 sizes | 1 MiB |" in collectives
    assert "| c004 | 4 | 8 | 32 | bcast, 21 sizes | 1 MiB |" in collectives
    bandwidth = output(capsys, "bandwidth", "--on", "tara", "--format", "md")
    assert "| c007 | 2 | 1 | 2 | inter-node core from memory, 27 sizes | 64 MiB |" in bandwidth
