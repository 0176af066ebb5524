# SPDX-License-Identifier: BSD-3-Clause
"""``weft compare`` on run folders: what it prints, its exit codes, its JSON, and its page."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made.run import STUDY, Made, make_run, tara_like
from weft.analyse.compare.claims import more_launches
from weft.cli.app import main
from weft.cli.show import size_range
from weft.errors import CompareError
from weft.report.compare import load_compare
from weft.report.compare.figures import BAND, FASTER, MODEL_BAND, all_figures
from weft.report.compare.page import differences
from weft.report.compare.tables import FIELDS
from weft.run.refresh import refresh_compared


def made(factor: float, seed: int, launches: int = 4, **changes: Any) -> Made:
    """A run whose exchange takes ``factor`` times as long."""
    study = STUDY.format(launches=launches, nodes=[1], ranks_per_node='"fill"', n=4608, symbol="p")

    def seconds(nodes: int, ranks: int, local: float) -> float:
        return factor * (local * ranks / nodes / 4e9 + 2e-6)

    return Made(study=study.replace("seed = 7", f"seed = {seed}"), samples=12, seconds=seconds, **changes)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Paths of runs: a base, the same again, one 1.25 times slower, one of three launches, one with a hung cell."""
    folder = tmp_path_factory.mktemp("runs")
    wanted = {
        "base": made(1.0, 1),
        "again": made(1.0, 2),
        "slow": made(1.25, 3, mpi="MPICH 5.0.2"),
        "few": made(1.25, 4, launches=3),
        "hung": made(1.0, 5, failures={("c001", launch): "timeout" for launch in (1, 2, 3, 4)}),
    }
    for name, each in wanted.items():
        make_run(folder / name, each)
    return lambda name: str(folder / name)


Shown = pytest.CaptureFixture[str]


def compared(capsys: Shown, *words: str) -> Any:
    """The JSON of a comparison."""
    main(["compare", *words, "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_a_slower_run_is_claimed_to_be_slower_and_fails_the_gate(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("slow"), "--fail-if", "slower:1.10"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    (found,) = compared(capsys, runs("base"), runs("slow"))["comparisons"]
    answer = found["claims"][0]
    assert answer["id"] == "compare.slower"
    assert answer["low"] <= answer["value"] <= answer["high"]
    assert answer["value"] == pytest.approx(1.25, rel=0.05)
    more = answer["more"]
    assert [more[name] for name in ("rows", "slower", "faster", "same", "few", "unmatched")] == [30, 10, 0, 20, 0, 0]
    assert (more["where"]["operation"], more["where"]["phase"]) == ("C", "warm")
    for row in found["card"]:  # the terminal prints the same card
        assert " ".join(row["value"].split()) in text
        assert " ".join(row["note"].split()) in text
    assert "Gate slower:1.1" in text


def test_a_run_measured_again_shows_no_difference_and_passes(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("again"), "--fail-if", "slower:1.10", "--fail-if", "missing"]) == 0
    capsys.readouterr()
    found = compared(capsys, runs("base"), runs("again"), "--fail-if", "slower:1.10", "--fail-if", "missing")
    answer = found["comparisons"][0]["claims"][0]
    assert (answer["id"], answer["more"]["same"], answer["more"]["rows"]) == ("compare.no-difference", 30, 30)
    assert [gate["state"] for gate in found["gates"]] == ["passed", "passed"]


def test_three_launches_give_no_verdict_and_leave_the_gate_undecided(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("few"), "--fail-if", "slower:1.10"]) == 2
    capsys.readouterr()
    found = compared(capsys, runs("base"), runs("few"), "--fail-if", "slower:1.10")
    answer = found["comparisons"][0]["claims"][0]
    assert answer["id"] == "compare.inconclusive"
    assert answer["next"] == more_launches(runs("few"))
    assert [row["id"] for row in found["comparisons"][0]["card"]] == ["compare.inconclusive", "next", "confidence"]
    assert [gate["state"] for gate in found["gates"]] == ["undecided"]


def test_a_hung_cell_is_told_and_fails_the_gate_missing(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("hung"), "--fail-if", "missing"]) == 1
    assert "timeout: made to be timeout" in " ".join(capsys.readouterr().out.split())
    found = compared(capsys, runs("base"), runs("hung"), "--fail-if", "missing")
    assert found["comparisons"][0]["claims"][0]["more"]["unmatched"] == 6
    assert [(gate["state"], gate["missing"]) for gate in found["gates"]] == [("failed", 6)]


@pytest.mark.parametrize(("words", "told"), [
    ([], "no run was given"), (["{base}"], "1 run was given; a comparison needs two"),
    (["{base}", "{base}"], "was given twice"), (["{base}", "{base}/nowhere"], "does not exist"),
    (["{base}", "{again}", "--fail-if", "slower"], "is no condition"),
    (["{base}", "{again}", "--format", "xml"], "format"),
])  # fmt: skip
def test_mistakes_end_with_code_two_and_say_what_to_do(
    runs: Callable[[str], str], capsys: Shown, words: list[str], told: str
) -> None:
    """Never with 1: a build must not take a mistyped path for a slow network."""
    filled = [word.format(base=runs("base"), again=runs("again")) for word in words]
    assert main(["compare", *filled]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "-> " in error
    assert "Traceback" not in error


def test_a_run_of_another_format_is_refused(runs: Callable[[str], str], tmp_path: Path, capsys: Shown) -> None:
    (tmp_path / "weft.json").write_text('{"schema": "weft-run/99"}')
    assert main(["compare", runs("base"), str(tmp_path)]) == 2
    assert "weft-run/99" in capsys.readouterr().err


def test_runs_of_different_studies_name_what_differs(runs: Callable[[str], str], tmp_path: Path, capsys: Shown) -> None:
    other = make_run(tmp_path / "tara", tara_like(samples=3))
    assert main(["compare", runs("base"), str(other)]) == 2
    assert "no row in common: A at N = 1, p = 1 is not in made-cluster (ranks is 8 there" in capsys.readouterr().err


def test_the_json_is_whole_and_says_what_the_text_says(runs: Callable[[str], str], capsys: Shown) -> None:
    words = ["compare", runs("base"), runs("slow"), runs("again"), "--format", "json", "--fail-if", "slower:1.10"]
    assert main(words) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["exit_code"]) == ("weft-compare/1", 1)
    assert [run["launches"] for run in found["runs"]] == [4, 4, 4]
    slow, again = found["comparisons"]
    assert (slow["outcome"], again["outcome"]) == ("slower", "no difference shown")
    assert found["gates"][0]["state"] == "failed"
    assert len(found["gates"][0]["offenders"]) >= 10
    for row in slow["rows"]:
        assert tuple(row) == FIELDS
        assert row["low"] <= row["ratio"] <= row["high"]
        if row["operation"] == "C" and row["phase"] == "warm":
            assert row["outcome"] == "slower"
            assert row["ratio"] == pytest.approx(1.25, rel=0.05)
    assert {row["summary"] for row in slow["rows"]} == {True, False}


def test_every_field_of_the_json_is_documented() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "dev" / "show-json.md").read_text()
    whole = ("weft-compare/1", "headline", "card", "claims", "unmatched", "margin", "offenders", "exit_code")
    for field in (*FIELDS, *whole):
        assert f"`{field}`" in page or f'"{field}"' in page, field


def test_csv_has_a_line_for_each_row_and_summary(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("slow"), "--format", "csv", "--phase", "warm"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert tuple(rows[0]) == FIELDS
    assert {row["phase"] for row in rows} == {"warm"}
    assert sum(row["summary"] == "False" for row in rows) == 15


def test_markdown_has_the_sentences_and_the_tables(runs: Callable[[str], str], capsys: Shown) -> None:
    assert main(["compare", runs("base"), runs("slow"), "--format", "md"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# MPICH 5.0.2 against Open MPI v5.0.11")
    assert "- **Slower** MPI\\_Alltoallv(m-vector) warm: 1.2" in text or "- **Slower** MPI_Alltoallv" in text
    assert text.count("| --- |") + text.count("| ---: |") > 5


def test_the_page_says_what_differs_between_the_runs(runs: Callable[[str], str], tmp_path: Path, capsys: Shown) -> None:
    page = tmp_path / "out" / "page.html"
    assert (
        main(["compare", runs("base"), runs("slow"), "-o", str(page), "--fail-if", "slower:3", "--figures", "svg"]) == 0
    )
    html = page.read_text()
    places = [html.index(each) for each in ('<h1 class="glance">Slower', 'id="ratios"', 'id="figures"', "What differs")]
    assert places == sorted(places)
    assert "Gate slower:3: passed" in html
    names = {path.stem for path in (page.parent / "figures").glob("*.svg")}
    assert {"times-constant-local-warm", "ratio-constant-local-warm", "ratio-constant-global-cold"} <= names
    found = load_compare((runs("base"), runs("slow")), phases=("warm",))
    assert dict(differences(found)) == {"MPI library": ["Open MPI v5.0.11, package: made", "MPICH 5.0.2"]}


def test_simulated_runs_are_labelled_everywhere(tmp_path: Path, capsys: Shown) -> None:
    measured, simulated = (
        make_run(tmp_path / kind, tara_like(kind=kind, samples=3)) for kind in ("slurm", "simulated")
    )
    page = tmp_path / "page.html"
    assert main(["compare", str(measured), str(simulated), "-o", str(page)]) == 0
    capsys.readouterr()
    assert '<span class="chip made">simulated</span>' in page.read_text()
    other = make_run(tmp_path / "other", tara_like(kind="simulated", samples=3))
    for base in (measured, other):
        answer = compared(capsys, str(base), str(simulated))["comparisons"][0]["claims"][0]
        assert answer["id"].startswith("compare.")
        assert answer["coverage"] is None, "a model has no interval"
        assert answer["more"]["smallest"] <= answer["more"]["largest"]
        assert "least" not in answer["more"], "that is what disturbances leave of a factor"
        assert answer["confidence"] >= "C", "nothing was fitted to this machine"
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(("kind", "band"), [("simulated", MODEL_BAND), ("slurm", BAND)])
def test_the_band_of_a_models_ratio_is_no_interval_over_launches(kind: str, band: str, tmp_path: Path) -> None:
    sides = [make_run(tmp_path / name, tara_like(kind=each, samples=3)) for name, each in (("a", "slurm"), ("b", kind))]
    refresh_compared(sides)
    figures = all_figures(load_compare([str(each) for each in sides]))
    assert {each.key for each in figures if each.name.startswith("ratio")} == {f"{band} {FASTER}"}


def test_no_ratio_is_drawn_of_runs_that_have_none_of_its_rows_in_common(tmp_path: Path) -> None:
    """A figure without panels stood empty on the page, and ended ``--figures svg`` with an IndexError."""
    kinds = {
        "base": tara_like(samples=3),
        "again": tara_like(samples=3),
        "small": tara_like("2 GiB", "slurm", samples=3),
    }
    runs = [make_run(tmp_path / name, each) for name, each in kinds.items()]
    refresh_compared(runs)
    figures = all_figures(load_compare(runs))
    assert any(figure.name.startswith("ratio-") for figure in figures)
    assert all(figure.whole()["concat"] for figure in figures)


def test_a_range_of_sizes_is_read_and_a_wrong_one_refused() -> None:
    assert size_range("64 KiB .. 1 MiB") == (65536, 1048576)
    assert size_range("8 B") == (8, 8)
    for text in ("64", "1 MiB .. 8 B", "..", "a .. b"):
        with pytest.raises(CompareError, match="--sizes") as error:
            size_range(text)
        assert error.value.exit_code == 2
