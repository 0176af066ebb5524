# SPDX-License-Identifier: BSD-3-Clause
"""What the report tells of a run of pairs."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.view import load_view, with_parameters
from weft.analyse.tables.claims import extras
from weft.cli.app import main
from weft.report.figures import Picture
from weft.report.figures.pairs import pair_figures
from weft.report.page import write
from weft.report.pair_view import PairView, exact_table
from weft.report.stories.pairs import PairsStory
from weft.report.tables import render
from weft.report.view import RunView

CLUSTER = Cluster(8, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight nodes, one of them slow to send, alone and beside others, at two sizes."""
    faults = Faults(senders={5: 2.0}, pairs={(1, 9): 4.0})
    made = {"sizes": (0, 1 << 18), "modes": {"isolated": 1.0, "all": 1.5}}
    return make_pairs_run(tmp_path_factory.mktemp("slow") / "run", CLUSTER, faults, **made)


@pytest.fixture(scope="module")
def view(slow: Path) -> RunView:
    return load_view(slow)


def test_a_class_whose_pairs_spread_widely_is_not_told_to_be_without_slow_ones(tmp_path: Path) -> None:
    # up to 2.6 times as slow, in no order: no node, no link, no two groups, and no single pair
    scattered = {(low, high): 1 + (37 * low + 11 * high) % 64 / 40 for low in range(8) for high in range(8, 16)}
    view = load_view(make_pairs_run(tmp_path / "run", CLUSTER, Faults(pairs=scattered)))
    assert not PairView(view).outliers
    far = [row for row in PairView(view).worst if row["factor"] >= 1.5]
    answer = view.claimed("answer")[0]
    assert (answer["id"], answer["value"]) == ("pairs.no-outlier", pytest.approx(far[0]["factor"]))
    assert extras(answer)["slow"] == len(far) > 1


def test_all_slow_pairs_are_counted_and_the_table_has_one_of_each_two_nodes(tmp_path: Path) -> None:
    cluster = Cluster(8, 4, 2, uplinks=1, per_pod=2, pod_uplinks=1)
    scattered = {
        (low, high): max(1.0, (37 * low + 11 * high) % 64 / 16 - 1.4) for low in range(16) for high in range(16, 32)
    }
    view = load_view(make_pairs_run(tmp_path / "run", cluster, Faults(pairs=scattered), sizes=(0,)))
    pairs = PairView(view)
    slow = extras(view.claimed("answer")[0])["slow"]
    assert slow == sum(row["slow"] for row in pairs.classes) > len(pairs.worst) == 100
    text = render(view, "md")
    table = text[text.index("The ten worst pairs, the worst of each two nodes") :]
    ends = re.findall(r"\d+ on (n\d) > \d+ on (n\d) ", table)
    assert len(ends) == len(set(ends)) == 10
    # no node is slow: the table of nodes has no empty column for a verdict
    nodes = text[text.index("The ten worst nodes") : text.index("The ten worst pairs")]
    assert "verdict" not in nodes


def test_captions_tell_of_nobody_where_all_are_alike(tmp_path: Path) -> None:
    view = load_view(make_pairs_run(tmp_path / "run", replace(CLUSTER, noise=(0.0, 0.0, 0.0))))
    readings = [figure.reading for figure in pair_figures(PairView(view))]
    assert "No node is noticeably slower than its classes." in readings
    assert not [reading for reading in readings if " 1 times" in reading]


def test_every_table_is_there_and_says_that_it_is_simulated(view: RunView) -> None:
    text = render(view, "md")
    for title in ("Latency by hops", "The ten worst nodes", "The ten worst pairs", "Contention", "First contact"):
        assert f"**{title}" in text
    assert "| 0 B, isolated | 0 hops, same leaf | 32 |" in text
    assert "slow as sender" in text
    assert text.count("(simulated)") >= 5


def test_contention_is_the_factor_that_was_made(view: RunView) -> None:
    factors = {row["class"]: row["factor"] for row in PairView(view).contention if row["bytes"] == 0}
    assert factors["4 hops"] == pytest.approx(1.5, rel=0.02)
    assert factors["0 hops, same node"] == pytest.approx(1.0, rel=0.05)


def test_each_outlier_is_an_answer_with_its_factor_and_the_first_has_a_remedy(view: RunView) -> None:
    answers = view.claimed("answer")
    assert [(each["id"], each["subject"]) for each in answers[:1]] == [("outlier.node", "n5")]
    assert extras(answers[0])["role"] == "sender"
    assert "outlier.pair" in {each["id"] for each in answers}
    assert view.claimed("remedy")[0]["id"] == "remedy.check-node"


def test_the_page_has_each_matrix_once_and_no_empty_figure(slow: Path, tmp_path: Path) -> None:
    page = write([slow], tmp_path / "report.html").read_text()
    assert page.count("Latency of every pair of ranks,") >= 2
    assert page.count('class="soft pointed"') == 6  # two sizes by rank, by node, and contention
    assert len(page) < 15_000_000


def test_the_node_that_the_answer_names_is_framed_in_its_matrices(view: RunView) -> None:
    assert [each["id"] for each in view.claimed("answer")].count("outlier.node") == 1
    framed = {
        each.name: each.svg.count('class="frame"')
        for each in pair_figures(PairView(view))
        if each.name.startswith("latency")
    }
    assert framed and set(framed.values()) == {2}


def test_where_windows_were_measured_the_matrices_show_rates(view: RunView) -> None:
    """They showed the time of a window, beside tables and answers in bytes a second."""
    pairs = PairView(with_parameters(view, window=16))
    size, mode = max(pairs.shown)
    figures = {each.name: each for each in pair_figures(pairs)}
    for kind, column in (("ranks", "slowest_s"), ("nodes", "time_s")):
        figure = figures[f"latency-{kind}-{size}-{mode}"]
        assert isinstance(figure, Picture)
        assert figure.title.startswith("Rate, 16 messages under way, ")
        fastest, cut, slowest = map(float, re.findall(r">([\d.]+) [MG]B/s<", figure.svg))
        assert fastest > cut > slowest
        assert " us<" not in figure.svg
        (data,) = re.findall(r"<script type=.application/json.>(.*?)</script>", figure.extra_html)
        found = json.loads(data)
        (unit, scale), shown = found["unit"], np.frombuffer(base64.b64decode(found["exact"]), "<f4")
        assert unit[1:] == "B/s"
        assert 0.9 * slowest < np.nanmin(shown) / scale < fastest
        rates = 16 * size / pairs.matrix(size, mode, column).ravel()
        assert shown == pytest.approx(rates, rel=1e-5, nan_ok=True)


def test_each_size_of_a_rate_says_how_many_messages_were_timed(view: RunView) -> None:
    """The number was that of 1 B for all sizes: whoever divided by the time of a large one had 16 times the rate."""
    fields = PairsStory().fields(with_parameters(view, window=64, window_bytes=1 << 20))["pairs"]
    assert {(row["bytes"], row["messages"]) for row in fields["classes"]} == {(0, 64), (1 << 18, 4)}
    assert {row["messages"] for row in PairsStory().fields(view)["pairs"]["classes"]} == {1}


def test_a_window_of_one_message_is_a_rate_as_the_card_says(view: RunView) -> None:
    pairs = PairView(with_parameters(view, window=64, window_bytes=1))
    assert (pairs.rates, pairs.value_text(1 << 18, 1e-3)) == (True, "262 MB/s")
    assert pairs.under_way == "1-64 messages"  # of no bytes any number
    assert PairsStory().tables(pairs.run)[0].title.startswith("Rate by hops")
    assert not PairView(view).rates


def test_every_table_and_key_of_a_check_says_which_messages_move_both_ways_at_once(view: RunView) -> None:
    """Only the keys of matrices did; and those of an older check, which had round trips of all sizes, did wrongly."""
    every = [with_parameters(view, matchings=2, both_ways=4096), with_parameters(view, matchings=2)]
    cut = PairView(with_parameters(view, matchings=2, both_ways=4096, part=60 << 10))
    assert cut.trip.endswith("a message each way at once, in parts of 60 KiB")
    for seen, both in zip(every, (True, False), strict=True):
        hops, *_, cold = PairsStory().tables(seen)
        assert cold.title.startswith("First contact")
        for text in (hops.title, exact_table(seen, []).title, str(cold.rows[0])):
            assert "alf a round trip" in text
            assert ("from 4 KiB a message each way at once" in text) is both
        keys = {each.name: each.key for each in pair_figures(PairView(seen)) if each.name.startswith("latency")}
        assert {name for name, key in keys.items() if "each way at once" in key} == {
            name for name in keys if both and f"-{1 << 18}-" in name
        }


def test_exact_quantiles_without_samples_are_refused(slow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(slow), "--exact"]) == 1
    assert "has no samples of pairs" in capsys.readouterr().err
