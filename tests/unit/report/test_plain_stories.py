# SPDX-License-Identifier: BSD-3-Clause
"""Cards of replays and probes say finding, cause and what to try; what hangs on doubtful numbers is told as such."""

from pathlib import Path

import pytest

from made.plain_run import PROBE, make_plain_run, make_replay_run
from made.view import load_view
from weft.analyse.tables.quality import QualityRow
from weft.report.card import card_of
from weft.report.headline import claimed, supposed
from weft.report.stories.probe import ProbeStory
from weft.report.stories.replay import ReplayStory
from weft.report.view import RunView

TOO_FEW = QualityRow(
    doubt="floor", grade="C", count=6, of=9, share=0.67, what="times below the noise floor (6 of 9 rows)",
    remedy="use larger blocks",
)  # fmt: skip


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_replay_run(tmp_path_factory.mktemp("replays") / "replay")


def replay(path: Path, seconds: float, *, traced_s: float = 0.01, computed_s: float = 0.0) -> RunView:
    """The made replay with another time, and another trace behind it."""
    view = load_view(path)
    for row in view.rows:
        row["median_s"], row["low_s"], row["high_s"] = seconds, 0.99 * seconds, 1.01 * seconds
    for cell in view.plan.cells:
        if "traced_ns" in cell.parameters:
            cell.parameters["traced_ns"], cell.parameters["computed_ns"] = traced_s * 1e9, computed_s * 1e9
    return view


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.028, "2.80 times as long as where it was traced (10 ms)."),
        (0.005, "2.00 times as fast as where it was traced (10 ms)."),
        (0.01, "as long as where it was traced (10 ms)."),
    ],
)
def test_a_replay_is_told_beside_its_trace(replayed: Path, seconds: float, words: str) -> None:
    found = ReplayStory().finding(replay(replayed, seconds))
    assert found.startswith("The application's 2 ranks take ")
    assert found.endswith(f" here, {words}")


def test_a_replay_that_mostly_computes_sends_nobody_to_the_network(replayed: Path) -> None:
    story, view = ReplayStory(), replay(replayed, 0.01, computed_s=0.008)
    assert "80 % of it is computation between calls, which no network shortens" in story.cause(view)
    assert "--compute" in story.advice(view)
    calls = replay(replayed, 0.04, computed_s=0.008)
    assert "80 % of it, 32 ms, is spent in MPI calls, which took 2 ms where it was traced" in story.cause(calls)
    assert "weft whatif" in story.advice(calls)


def test_a_trace_that_was_not_replayed_advises_nothing_and_supposes_nothing(replayed: Path) -> None:
    view = replay(replayed, 0.01)
    for row in view.rows:
        row["status"], row["median_s"], row["samples"] = "crash", None, 0
    vars(view)["quality"] = [TOO_FEW]
    card = card_of(view)
    assert card.line == "Not replayed"
    assert card.sentences[-1] == "The trace was not replayed: no cell has a time."
    assert ReplayStory().advice(view) == ReplayStory().cause(view) == ""


@pytest.mark.parametrize(("crowded", "words"), [(1.0, "each rank sets its own pace"), (3.0, "hold each other up")])
def test_a_probe_says_what_sets_the_pace_of_its_messages(tmp_path: Path, crowded: float, words: str) -> None:
    def seconds(operation: str) -> float:
        return 2e-6 if operation.startswith("trip") else 1e-4 * (crowded if operation.startswith("all") else 1.0)

    view = load_view(make_plain_run(tmp_path / "run", PROBE, seconds))
    card = card_of(view)
    assert words in card.sentences[1]
    assert "To try: " in card.sentences[1]
    assert ("fewer ranks" in ProbeStory().advice(view)) is (crowded > 1)
    assert len(card.numbers) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Two ranks reach 9 GB/s.", "If the numbers hold, two ranks reach 9 GB/s."),
        ("A message takes 2 us.", "If the numbers hold, a message takes 2 us."),
        ("MPI_Bcast takes 2 us.", "If the numbers hold, MPI_Bcast takes 2 us."),
        ("28.1 ms here.", "If the numbers hold, 28.1 ms here."),
        ("", ""),
    ],
)
def test_a_statement_on_doubtful_numbers_is_one_sentence(text: str, said: str) -> None:
    assert supposed(text) == said


def test_what_answers_nothing_is_not_supposed() -> None:
    """Once: "If the numbers hold: No verdict: 3 launches, 4 needed."."""
    text = claimed("No verdict: it needs 4 launches, and has 3.", "", [TOO_FEW], answers=False)
    assert text == (
        "Not shown (quality C): times below the noise floor (6 of 9 rows). No verdict: it needs 4 launches, and has 3."
    )
