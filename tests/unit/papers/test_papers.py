# SPDX-License-Identifier: BSD-3-Clause
"""The page of papers, and what of it can be known without simulating."""

import json
import math
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from weft.cli.app import main
from weft.errors import StudyError
from weft.fabric import load_fabric
from weft.format import percent
from weft.kernel.studies import load_study
from weft.papers import PARTS, Bench, Part, compute, error_text, paper_text, published, time_or_status, wanted, write
from weft.papers.calls import EXPLANATIONS, fitted_cost, variant
from weft.papers.datasheet import nominal
from weft.papers.memory import STUDY, peer_buffers_that_explain, without_buffers
from weft.papers.tables import accepted_triples, cells, errors, triples_table
from weft.plan.make import make_plan
from weft.report.tabular import Table

ERR = {("m810N", 36), ("m1024N", 9), ("m1024N", 18), ("m1024N", 36)}


def refused(fabric: str = "tara", *, buffers: bool = True) -> set[tuple[str, int]]:
    where = load_fabric(fabric)
    plan = make_plan(load_study(STUDY), where if buffers else without_buffers(where))
    return {(cell.series[0], cell.nodes) for cell in plan.cells if cell.status == "memory"}


def test_every_part_has_a_file_that_computes_it() -> None:
    for name in PARTS:
        assert callable(import_module(f"weft.papers.{name}").compute)


def test_an_unknown_part_is_told_with_those_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(StudyError, match='no part "tabels"'):
        compute("tabels", Bench(tmp_path))
    assert main(["papers", "tabels", "--into", str(tmp_path)]) == 2
    assert "one of tables" in capsys.readouterr().err


def test_what_a_host_took_for_one_cell_decides_nothing_about_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, given = SimpleNamespace(learns=True), list[SimpleNamespace]()
    monkeypatch.setattr("weft.launch.simulated.launcher.make_launcher", lambda *_: made)
    monkeypatch.setattr("weft.papers.run_study", lambda *asked: given.append(asked[3]))
    monkeypatch.setattr("weft.papers.load_view", lambda _: None)
    Bench(tmp_path).run(STUDY, "tara")
    assert given == [made]
    assert not made.learns


def test_a_mistake_in_the_last_word_is_told_before_anything_is_simulated(tmp_path: Path) -> None:
    assert main(["papers", "memory", "tabels", "--into", str(tmp_path)]) == 2
    assert main(["papers", "memory", "-o", str(tmp_path / "page.pdf"), "--into", str(tmp_path)]) == 2
    assert not any(tmp_path.iterdir())


def test_each_part_is_computed_once_and_all_without_a_word() -> None:
    assert wanted(["memory", "calls", "memory"]) == ["memory", "calls"]
    assert wanted([]) == list(PARTS)


def test_the_cells_marked_err_and_no_others_do_not_fit_24_gib() -> None:
    assert refused() == ERR
    assert {
        (f"m{m}N", nodes)
        for m, seconds in published("tara")["memory"].items()
        for nodes, time in zip(published("tara")["experiment"]["nodes"], seconds, strict=True)
        if math.isnan(time)
    } == ERR


def test_without_the_librarys_buffers_all_cells_would_fit() -> None:
    assert refused(buffers=False) == set()


def test_the_buffers_of_tara_lie_between_what_err_and_what_ran_allow() -> None:
    low, high = peer_buffers_that_explain()
    simulation = load_fabric("tara").simulation
    assert simulation is not None
    assert simulation.peer_buffers is not None
    assert low < simulation.peer_buffers < high
    assert high < 1.05 * low


def test_every_accepted_triple_of_taras_cells_predicts_the_six_others() -> None:
    found = accepted_triples(load_fabric("tara"))
    assert len(found) == 11
    assert all(sum(cell.fitted for cell in each.cells) == 3 for each in found)
    worst = [errors(each)[0] for each in found]
    assert worst == sorted(worst)
    assert 0.03 < worst[0] < 0.06
    assert 0.10 < worst[-1] < 0.12
    table = triples_table(found)
    assert table.rows[-1][1] == percent(worst[-1])
    assert len(table.rows) == 11


def test_the_cost_of_a_connection_is_found_again() -> None:
    cells = [(0.001, 60.0), (0.002, 130.0), (0.004, 270.0)]
    seconds = [warm + 1.7e-3 * share for warm, share in cells]
    assert fitted_cost(cells, seconds, 2e-3) == pytest.approx(1.7e-3, rel=1e-4)


def test_each_explanation_is_a_machine_of_its_own(tmp_path: Path) -> None:
    made = {name: variant(tmp_path / "runs", name, keys).simulation for name, _, keys in EXPLANATIONS}
    assert {name: each.start_up for name, each in made.items() if each} == {
        "fresh": "nothing", "bruck": "nothing", "barrier": "barrier"
    }  # fmt: skip
    assert made["bruck"] is not None
    assert made["bruck"].algorithms == {"alltoall": "bruck"}


def test_both_tables_are_nine_cells() -> None:
    made = cells()
    assert len(made) == 9
    assert made[0].seconds == 1.14


def test_the_data_sheets_machine_has_its_nominal_rate_and_keeps_no_connections() -> None:
    fabric = nominal()
    assert fabric.network is not None
    assert fabric.simulation is not None
    assert (fabric.network.adapter_rate, fabric.simulation.connection_cost) == (3.5e9, 0.0)


def test_the_page_is_written_three_ways_and_says_simulated(tmp_path: Path) -> None:
    table = Table("Times (simulated)", ("N", "paper", "<simulated>"), (("1", "1.14 s", "memory"),))
    part = Part("calls", "three calls", ("First sentence.", "a < b"), (table,), {"error": 0.25})
    paths = write([part], tmp_path / "deep" / "page.html")
    assert [path.suffix for path in paths] == [".md", ".html", ".json"]
    text, page, values = (path.read_text() for path in paths)
    assert "## Three calls\n\nFirst sentence." in text
    assert "| 1 | 1.14 s | memory |" in text
    assert '<span class="badge">simulated</span>' in page
    assert "a &lt; b" in page
    assert "http" not in page.replace("http-equiv", "")
    assert json.loads(values) == {"calls": {"error": 0.25}}


def test_a_page_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="neither"):
        write([], tmp_path / "page.pdf")


def test_what_the_paper_prints_is_printed_as_it_stands() -> None:
    assert (paper_text(0.11), paper_text(0.01, below=True), paper_text(math.nan)) == ("0.11 s", "< 0.01 s", "ERR")
    assert (error_text(1.1, 1.0), error_text(None, 1.0)) == ("+10.0 %", "–")
    assert time_or_status({"status": "memory", "median_s": None}) == "memory"
    assert time_or_status(None) == "–"


def test_the_extended_machine_is_tara_with_more_leaves() -> None:
    tara, extended = load_fabric("tara"), load_fabric("tara-extended")
    assert extended.network == tara.network
    assert len(extended.hosts) == 576
    assert extended.hosts[:36] == tara.hosts
    assert extended.node.copy_rate == tara.node.copy_rate


def test_the_studies_beyond_tara_move_the_same_bytes_as_those_of_the_papers() -> None:
    plan = make_plan(load_study("tara-beyond"), load_fabric("tara-extended"))
    papers = make_plan(load_study("tara-constant-local"), load_fabric("tara"))
    own = {cell.nodes: cell for cell in plan.cells if "constant-local" in cell.series}
    last = papers.cells[-1]
    assert (own[36].array_bytes, own[36].block_bytes) == (last.array_bytes, last.block_bytes)
    assert {cell.status for cell in plan.cells} == {"planned"}
    assert sorted(own) == [36, 72, 144, 288, 576]
