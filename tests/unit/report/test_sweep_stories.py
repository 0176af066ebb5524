# SPDX-License-Identifier: BSD-3-Clause
"""The stories of collective and bandwidth: times and rates by size, change-overs with their knobs, who wins where."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from made.sweeps import BANDWIDTH, COLLECTIVE, TWO_NODES, VALUES, MadeSweep, make_sweep, stepping
from made.view import load_view
from weft.analyse.tables.answers import WINNERS
from weft.analyse.tables.sweeps import Line, lines_of, size_of
from weft.analyse.tables.times import TimedRow
from weft.plan.records import Cell
from weft.report.figures import Figure
from weft.report.figures.sizes import size_panel
from weft.report.html import parts, write_figures
from weft.report.page import all_figures, write
from weft.report.stories.collective import CollectiveStory
from weft.report.sweep_tables import time_table
from weft.report.tables import all_tables, render
from weft.report.tabular import Table
from weft.report.view import RunView
from weft.words.card import say

Row = dict[str, Any]


def two_algorithms(cell: Cell, size: int) -> float:
    """Beyond 1 KiB one algorithm takes 0.6 of the default's time, all others 1.1."""
    name = cell.parameters.get("algorithm", "default")
    factor = {"default": 1.0, "pairwise": 0.6, "binomial": 0.6}.get(name, 1.1)
    return stepping(cell, size) * (factor if size > 1024 else 1.0 if name == "default" else 1.1)


def only_hot(cell: Cell, size: int) -> float:
    """A step at 4 KiB, where an eager limit stands, that is not there when the messages come from memory."""
    return stepping(cell, size) if cell.parameters["cache"] == "hot" else (1e-6 * cell.ranks + size / 2e9)


def found_lines(view: RunView) -> list[Line]:
    return lines_of(view.path, view.plan, view.rows)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunView]:
    folder = tmp_path_factory.mktemp("sweeps")
    made = {
        "calls": MadeSweep(),
        "rates": MadeSweep(study=BANDWIDTH.format(cache="cold")),
        "virtual": MadeSweep(study=BANDWIDTH.format(cache="cold"), fabric=TWO_NODES),
        "both": MadeSweep(study=BANDWIDTH.format(cache="both")),
        "cache": MadeSweep(study=BANDWIDTH.format(cache="both"), seconds=only_hot),
        "each": MadeSweep(study=COLLECTIVE.format(algorithms="each"), seconds=two_algorithms),
        "unknown": MadeSweep(named_settings={}),
        "smooth": MadeSweep(seconds=lambda cell, size: 1e-6 * cell.ranks + size / 4e9),
    }
    return {name: load_view(make_sweep(folder / name, each)) for name, each in made.items()}


def table(view: RunView, start: str) -> Table:
    return next(table for table in all_tables(view) if table.title.startswith(start))


def figure(view: RunView, name: str) -> Figure:
    found = next(figure for figure in all_figures(view) if figure.name == name)
    assert isinstance(found, Figure)
    return found


def test_between_nodes_it_is_another_limit_and_another_knob(runs: dict[str, RunView]) -> None:
    changes = table(runs["virtual"], "Change-over points (virtual network)")
    by_pattern = {row[0].split(",")[0]: row for row in changes.rows[1:]}
    assert by_pattern["intra-socket"][2] == "perhaps btl_sm_eager_limit (4,096 B)"
    assert by_pattern["inter-node"][2] == "perhaps btl_tcp_eager_limit (65,536 B)"
    assert by_pattern["inter-node"][1] == "32 KiB – 64 KiB"


def test_a_step_that_is_there_hot_alone_is_the_memorys_and_no_knob_is_named_for_it(runs: dict[str, RunView]) -> None:
    changes = table(runs["cache"], "Change-over points")
    assert {(row[0].split(", ")[1], row[2], row[3]) for row in changes.rows[1:]} == {
        ("from cache", "the memory, no protocol", "cache")
    }
    assert {row["cache"] for row in runs["cache"].rows} == {"hot", "cold"}


def test_a_step_that_is_there_hot_and_cold_is_the_librarys_and_is_told_once(runs: dict[str, RunView]) -> None:
    changes = table(runs["both"], "Change-over points")
    found = {(row[0].split(", ")[1], row[2], row[3]) for row in changes.rows[1:]}
    assert found == {(cache, "perhaps btl_sm_eager_limit (4,096 B)", "jump") for cache in ("from cache", "from memory")}


def test_the_rate_table_has_sizes_down_and_patterns_across(runs: dict[str, RunView]) -> None:
    rates = table(runs["rates"], "One-way rate")
    assert rates.columns == (
        "Message",
        "intra-socket, from memory",
        "size / rate",
        "inter-socket, from memory",
        "size / rate",
    )
    assert [row[0] for row in rates.rows[1:]][::11] == ["1 B", "2 KiB", "4 MiB"]
    row = next(row for row in runs["rates"].rows if (row["call"], row["phase"]) == ("send@4194304", "warm"))
    assert rates.rows[-1][1].startswith(f"{4194304 / row['median_s'] / 1e9:.2f} GB/s (")
    assert parts(rates.rows[-1][1])[1].startswith("(")


@pytest.mark.parametrize(
    ("gain", "pairs", "label"), [(0.5, 2, "Still rising"), (0.98, 1, "Adapter full")], ids=["rising", "full"]
)
def test_the_fewest_pairs_that_fill_the_adapter_and_the_message_rate_are_told(
    tmp_path: Path, gain: float, pairs: int, label: str
) -> None:
    study = BANDWIDTH.format(cache="cold").replace("sizes =", 'pairs = "cores"\nsizes =')

    def seconds(cell: Cell, size: int) -> float:
        return (1e-7 + size / 1e9) * (gain if cell.ranks == 4 else 1.0)

    made = MadeSweep(study=study, fabric=TWO_NODES, seconds=seconds, noise=1e-4)
    view = load_view(make_sweep(tmp_path / "run", made))
    claims = {claim["id"]: claim for claim in view.claims}
    full, rate = claims["rate.saturated"], claims["rate.messages"]
    assert (full["value"], full["subject"]) == (pairs, "inter-node, 0 hops")
    assert rate["value"] == pytest.approx(1 / ((1e-7 + 1e-9) * gain), rel=0.02)
    assert claims["bandwidth.rate"]["value"] == pytest.approx(1e9 / gain, rel=0.1)
    assert [row.label for row in map(say, (full, rate))] == [label, "Message rate"]


def test_many_lines_of_few_sizes_have_a_row_each(tmp_path: Path) -> None:
    study = BANDWIDTH.format(cache="both").replace('"1 B .. 4 MiB"', '["8 B", "1 KiB"]\nways = ["one", "both"]')
    rates = table(load_view(make_sweep(tmp_path / "run", MadeSweep(study=study))), "Rate")
    assert rates.columns == ("Messages", "Message", "Rate", "size / rate")
    assert len(rates.rows) == 1 + 2 * 2 * 2 * 2  # patterns, ways, caches, sizes
    assert [row[1] for row in rates.rows[1:3]] == ["8 B", "1 KiB"]


def test_a_call_has_a_table_of_sizes_by_process_counts_with_bounds(runs: dict[str, RunView]) -> None:
    times = table(runs["calls"], "Time of MPI_Alltoall")
    assert times.columns == ("Message", "N = 1, p = 2", "at least", "N = 1, p = 4", "at least")
    assert len(times.rows) == 1 + 21
    assert "memory copy" in times.rows[-1][2]


def test_the_barrier_stands_as_the_floor(runs: dict[str, RunView]) -> None:
    floor = table(runs["calls"], "An empty exchange: MPI_Barrier")
    assert floor.columns == ("Floor", "N = 1, p = 2", "N = 1, p = 4")
    assert abs(float(floor.rows[1][1].split(" ns (")[0]) - 500) < 5


def test_change_overs_are_listed_with_size_knob_value_and_factor(runs: dict[str, RunView]) -> None:
    changes = table(runs["calls"], "Change-over points")
    assert len(changes.rows) == 1 + 4
    for row in changes.rows[1:]:
        assert row[1:4] == ("2 KiB – 4 KiB", "perhaps btl_sm_eager_limit (4,096 B)", "jump")
        assert row[5].startswith("2.")


def test_without_values_no_knob_is_claimed_and_the_usual_one_is_told(runs: dict[str, RunView]) -> None:
    changes = table(runs["unknown"], "Change-over points")
    assert {row[2] for row in changes.rows[1:]} == {"none known here"}
    notes = [finding for finding in runs["unknown"].findings if finding["rule"] == "change-over"]
    assert len(notes) == 4
    assert "no knob that Weft knows has this value" in notes[0]["what"]
    assert any(
        "try coll_tuned_bcast_algorithm, which chooses the algorithm; or btl_sm_eager_limit" in note["remedy"]
        for note in notes
    )


def test_a_smooth_run_has_no_change_over_and_says_so(runs: dict[str, RunView]) -> None:
    assert not [one for one in all_tables(runs["smooth"]) if one.title.startswith("Change-over")]
    assert not [finding for finding in runs["smooth"].findings if finding["rule"] == "change-over"]


def test_the_winner_is_the_planted_algorithm_where_it_was_planted_alone(runs: dict[str, RunView]) -> None:
    found = WINNERS.read(runs["each"].path)
    assert {(winner["call"], winner["algorithm"]) for winner in found if winner["bytes"] > 1024} == {
        ("bcast", "binomial"),
        ("alltoall", "pairwise"),
    }
    assert {winner["algorithm"] for winner in found if winner["bytes"] <= 1024} == {"default"}
    for winner in found:
        if winner["low"] is not None and winner["high"] is not None:
            assert winner["low"] * 0.98 <= 0.6 <= winner["high"] * 1.02
            assert winner["ratio"] == pytest.approx(0.6, rel=0.05)


def test_winners_have_a_table_and_a_map_for_each_call(runs: dict[str, RunView]) -> None:
    fastest = table(runs["each"], "Fastest algorithm of MPI_Alltoall")
    assert fastest.columns == ("Message", "N = 1, p = 2", "N = 1, p = 4")
    assert fastest.rows[-1][1].startswith("pairwise 0.")
    drawn = figure(runs["each"], "winners")
    assert [panel["title"]["text"] for panel in drawn.specifications()] == ["MPI_Bcast", "MPI_Alltoall"]
    assert "pairwise" in json.dumps(drawn.specifications()[1])
    assert drawn.reading.startswith("The library's own choice is beaten at 40 of 84 points")


def test_times_of_other_algorithms_stay_out_of_the_tables_of_calls(runs: dict[str, RunView]) -> None:
    assert table(runs["each"], "Time of MPI_Bcast").columns == table(runs["calls"], "Time of MPI_Bcast").columns


def test_figures_mark_the_change_and_the_knob(runs: dict[str, RunView]) -> None:
    for view, name in ((runs["rates"], "bandwidth"), (runs["calls"], "collectives")):
        text = json.dumps(figure(view, name).specifications())
        assert "btl_sm_eager_limit = 4 KiB" in text
        assert '"jump": true' in text
        assert '"type": "log"' in text
    panels = figure(runs["calls"], "collectives").specifications()
    assert [panel["title"]["text"] for panel in panels] == ["MPI_Bcast", "MPI_Alltoall"]


def test_a_point_of_the_figure_is_a_number_of_the_table(runs: dict[str, RunView]) -> None:
    sets = figure(runs["rates"], "bandwidth").specifications()[0]["datasets"].values()
    points = [
        row for rows in sets for row in rows if row.get("label") == "intra-socket, from memory" and row.get("samples")
    ]
    (point,) = [row for row in points if row["x"] == 1 << 20]
    (cell,) = [line for line in found_lines(runs["rates"]) if line.cell.parameters["pattern"] == "intra-socket"]
    row = cell.at(1 << 20)
    assert row is not None
    assert point["y"] == pytest.approx((1 << 20) / row["median_s"])


def test_virtual_runs_say_so_in_every_title(runs: dict[str, RunView]) -> None:
    assert all("(virtual network)" in one.title for one in all_tables(runs["virtual"]))
    assert all("(virtual network)" in one.title for one in all_figures(runs["virtual"]))


def test_the_json_has_change_overs_and_winners_as_the_docs_describe(runs: dict[str, RunView]) -> None:
    value = json.loads(render(runs["each"], "json"))
    calls = json.loads(render(runs["calls"], "json"))
    first = calls["change_overs"][0]
    assert (first["lower"], first["upper"], first["knob_value"]) == (2048, 4096, 4096)
    assert first["knobs"][0] == "btl_sm_eager_limit"
    assert first["call"] in ("bcast", "alltoall")
    assert value["winners"][0]["algorithm"]
    page = (Path(__file__).parents[3] / "docs" / "dev" / "show-json.md").read_text()
    assert all(f"`{name}`" in page for name in (*first, *value["winners"][0], "slower_than_double", "winners"))


def test_a_size_slower_than_its_double_is_told_with_both_times(tmp_path: Path) -> None:
    def falling(cell: Cell, size: int) -> float:
        return (2e-6 + size / 4e9) * (0.5 if size >= 8192 else 1.0)

    view = load_view(make_sweep(tmp_path / "run", MadeSweep(seconds=falling)))
    slower = table(view, "Messages slower than their double")
    assert {row[1] for row in slower.rows[1:]} == {"4 KiB"}
    notes = [finding for finding in view.findings if finding["rule"] == "slower-than-double"]
    assert len(notes) == 4
    assert "4 KiB take" in notes[0]["what"]


def test_a_bend_is_listed_and_not_named_on_a_knob_that_stands_there_by_chance(tmp_path: Path) -> None:
    def out_of_cache(cell: Cell, size: int) -> float:
        return 5e-7 + min(size, 32768) / 8e9 + max(0, size - 32768) / 3e9

    view = load_view(
        make_sweep(tmp_path / "run", MadeSweep(study=BANDWIDTH.format(cache="cold"), seconds=out_of_cache))
    )
    changes = table(view, "Change-over points")
    assert {row[2:4] for row in changes.rows[1:]} == {("none known here", "bend")}
    assert not [finding for finding in view.findings if finding["rule"] == "change-over"]


def test_launches_that_disagree_on_a_knob_name_none(tmp_path: Path) -> None:
    run = make_sweep(tmp_path / "run")
    record = next((run / "launches").glob("g*.l2.json"))
    value = json.loads(record.read_text())
    value["named_settings"] = VALUES | {"btl_sm_eager_limit": "8192", "btl_vader_eager_limit": "8192"}
    record.write_text(json.dumps(value))
    changes = table(load_view(run), "Change-over points")
    assert "none known here" in {row[2] for row in changes.rows[1:]}


def test_a_run_without_times_is_shown_all_the_same(tmp_path: Path) -> None:
    for study in (BANDWIDTH.format(cache="cold"), COLLECTIVE.format(algorithms="default")):
        run = make_sweep(tmp_path / study.split('"')[1], MadeSweep(study=study))
        for left in (*(run / "cells").iterdir(), *(run / "launches").iterdir()):
            left.unlink()
        view = load_view(run)
        assert view.claimed("answer")[0]["id"].endswith(".untimed")
        assert "not measured yet" in render(view, "text")


def test_the_figures_become_files_and_the_page_is_written(runs: dict[str, RunView], tmp_path: Path) -> None:
    written = write_figures(all_figures(runs["each"]), tmp_path / "figures")
    assert len(written) == 6
    assert all(path.stat().st_size > 1000 for path in written)
    page = write([runs["calls"].path], tmp_path / "page.html").read_text()
    assert "btl_sm_eager_limit" in page
    assert page.count('class="chart"') == 2


def test_the_page_says_that_the_time_of_a_message_is_no_latency_and_how_many_are_in_flight(
    runs: dict[str, RunView],
) -> None:
    view = runs["rates"]
    assert table(view, "One-way rate").title.startswith("One-way rate, up to 64 messages in flight")
    assert figure(view, "message-time").key.startswith(
        "The reciprocal of the rate, with up to 64 messages in flight: no latency."
    )


def test_a_size_of_one_launch_in_four_is_marked_and_stays_off_the_line(runs: dict[str, RunView]) -> None:
    (line, *_) = found_lines(runs["calls"])
    rows = tuple(cast(TimedRow, {**row, "launches": 1 if size_of(row) == 2048 else 4}) for row in line.rows)
    rare = replace(line, rows=rows)
    listed = [row[0] for row in time_table("t", [rare]).rows]
    assert "2 KiB, 1 of 4 launches" in listed
    assert sum("launches" in text for text in listed) == 1
    panel = size_panel([(rare, "p")], "time", small=False).to_dict()
    sets = {name: [row for row in rows if "rare" in row] for name, rows in panel["datasets"].items()}
    lines = [layer["data"]["name"] for layer in panel["layer"] if layer["mark"] == {"type": "line", "strokeWidth": 1.8}]
    assert not [row for name in lines for row in sets[name] if row["x"] == 2048]
    assert [name for name in lines if sets[name]]
    assert [row["x"] for rows in sets.values() for row in rows if row["rare"]].count(2048) >= 1


def test_a_long_name_has_room_beyond_the_last_point_on_a_narrow_page(runs: dict[str, RunView]) -> None:
    """At 800 px "intra-socket, cold" ended in "co" at the edge."""
    (line, *_) = found_lines(runs["rates"])
    name = "inter-node, 4 hops, from memory"
    (layer, *_) = size_panel([(line, name)], "rate", small=False).to_dict()["layer"]
    first, last = layer["encoding"]["x"]["scale"]["domain"]
    largest = max(size_of(row) for row in line.rows)
    beyond = math.log(last / largest) / math.log(last / first)
    assert beyond * 560 > 6.6 * len(name)


def test_times_stand_beside_the_answer_of_a_collective_and_not_the_rounds_of_another_cell() -> None:
    """Beside 123x the bound of a neighbourhood call stood the rounds of a plain exchange in another graph."""
    view = cast(RunView, SimpleNamespace(claimed=lambda kind: []))
    drawn = [cast(Figure, SimpleNamespace(name=name)) for name in ("rounds", "winners", "collectives")]
    assert [each.name for each in CollectiveStory().proof(view, drawn)] == ["collectives"]
