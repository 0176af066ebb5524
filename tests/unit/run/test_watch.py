# SPDX-License-Identifier: BSD-3-Clause
"""What a run shows of the cell that it measures."""

import io
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from made.live import slot_of
from weft.launch.launcher import LaunchRequest, Outcome, parse_live
from weft.launch.virtual.counters import counters_now
from weft.launch.virtual.spec import VirtualLink, VirtualSpec
from weft.plan.wire import Rules
from weft.run.progress import Lines, Live, Progress
from weft.run.watch import Watch, busiest, in_one_line, sparkline
from weft.store.folder import RunFolder
from weft.store.links import LinkCount

NAMES = "leaf0 to spine0"


def count(moved: int, source: str = "leaf0", rate: float = 1e9) -> LinkCount:
    return LinkCount("uplink", source, "spine0", rate, moved, 0, 0)


def test_a_sparkline_goes_from_the_smallest_to_the_largest() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([]) == ""
    assert sparkline([5.0, 5.001, 5.0]) == "▄▄▄"  # a thousandth is no peak


def test_the_line_has_median_interval_samples_and_sparkline() -> None:
    glimpse = parse_live(slot_of("c003 alltoall@8 1 34 12300000 11900000 12800000 12000000 13000000"))
    assert glimpse is not None
    assert in_one_line(glimpse) == "alltoall@8: 12.3 ms (11.9–12.8), 34 samples ▁█"
    few = parse_live(slot_of("c003 A 1 1 12300000 0 0 12300000"))
    assert few is not None
    assert in_one_line(few) == "A: 12.3 ms, 1 sample ▄"


def test_the_busiest_link_is_the_one_with_the_largest_share_of_its_own_rate() -> None:
    before = [count(0), count(0, "leaf1", 4e9)]
    after = [count(450_000_000), count(900_000_000, "leaf1", 4e9)]
    assert busiest(before, after, 0.5) == f"busiest link: {NAMES}, 90 % of its rate"


def test_counters_that_went_backwards_or_say_nothing_name_no_link() -> None:
    assert busiest([count(9)], [count(0)], 0.5) == ""
    assert busiest([], [count(9)], 0.5) == ""
    assert busiest([count(0)], [count(1_000_000)], 0.5) == ""  # 0.2 % of the rate
    assert busiest([count(0, rate=0.0)], [count(1_000_000, rate=0.0)], 0.5) == ""


def test_both_directions_of_a_link_are_read_at_the_switch(tmp_path: Path) -> None:
    spec = VirtualSpec("v", ("a", "b"), ("leaf0",), (
        VirtualLink("a-leaf0", "a", "leaf0", 1e9), VirtualLink("b-leaf0", "b", "leaf0", 1e9),
    ))  # fmt: skip
    text = "Inter-| Receive\n face |bytes\n  l0b: 700 7 0 0 0 0 0 0 300 3 0\n  l1b: gone\n"
    (tmp_path / "dev").write_text(text)
    found = counters_now(spec, {"": tmp_path / "dev"})
    assert [(each.source, each.bytes) for each in found] == [("a", 700), ("leaf0", 300)]
    assert counters_now(spec, {"": Path("/proc/4194305/net/dev")}) == []  # no such process


class Told(Progress):
    """Keeps what it is told, and when it was told something."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.heard = threading.Event()

    def glimpse(self, samples: str, link: str) -> None:
        self.words.append((samples, link))
        self.heard.set()


class Counting:
    """A launcher with one busy link."""

    rules = Rules()

    def __init__(self) -> None:
        self.moved = 0

    def provenance(self) -> dict[str, str]:
        return {}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        raise AssertionError("whoever watches starts nothing")

    def counters_now(self) -> list[LinkCount]:
        self.moved += 10**12
        return [count(self.moved)]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path)
    run.launches.mkdir()
    run.of("c003.l1", "plan").write_text("")
    return run


def test_the_thread_tells_the_running_launch_and_ends(folder: RunFolder) -> None:
    told = Told()
    with Watch(folder, Counting(), told) as watch:
        watch.turn_to("c003.l1")
        folder.of("c003.l1", "live").write_bytes(slot_of("c003 A 1 1 12300000 0 0 12300000"))
        assert told.heard.wait(30)
        told.heard.clear()
        assert told.heard.wait(30)
    assert told.words[-1] == ("A: 12.3 ms, 1 sample ▄", f"busiest link: {NAMES}, 100 % of its rate")
    assert not any(thread.name == "weft-watch" for thread in threading.enumerate())


def test_nothing_is_told_of_other_launches_or_of_torn_slots(folder: RunFolder) -> None:
    watch = Watch(folder, Counting(), Progress())
    assert watch.look() == ("", "")
    watch.turn_to("c004.l1")
    assert watch.look() == ("", "")
    watch.turn_to("c003.l1")
    folder.of("c003.l1", "live").write_bytes(slot_of("c003 A 1 1 12300000 0 0")[:30])
    assert watch.look()[0] == ""


def test_words_of_a_hostile_slot_reach_the_terminal_as_plain_text() -> None:
    live = Live()
    live.bar.console.file = out = io.StringIO()
    live.start(2, 0, 5.0)
    live.current("exchange [bold]\x1b[31m")
    live.glimpse("A\x1b]0;title\x07", "link\x1b[31m")
    live.display.refresh()
    live.stop()
    assert "\x1b]0" not in out.getvalue() and "\x1b[31m" not in out.getvalue()


@pytest.mark.parametrize("columns", [60, 80])
def test_the_time_is_never_cut_off_and_no_line_breaks(columns: int) -> None:
    from weft.text import console

    live = Live()
    live.start(1200, 3, 7500.0)
    live.current("exchange on 16 nodes, 1024 ranks: n=1492992 m=1024 some_key=100 (c003) and 40 more (launch 2)")
    live.glimpse(
        "alltoall@1048576: 12.3 ms (11.9–12.8), 34 samples " + "▁" * 60,
        "busiest link: leaf0 to spine0, 93 % of its rate",
    )
    live.settled("c001", "ok", 999, 7500.0)
    live.stop()
    screen = console(file=io.StringIO(), force_terminal=True, width=columns, color_system=None)
    screen.print(live.display.get_renderable())
    lines = screen.file.getvalue().splitlines()
    assert len(lines) == 4
    assert "about 2 h 5 min left" in lines[0]
    assert lines[1].endswith("…") and lines[2].endswith("…")
    assert lines[3].strip() == "busiest link: leaf0 to spine0, 93 % of its rate"


def test_a_log_gets_a_line_a_minute_of_a_long_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    out = io.StringIO()
    lines = Lines(out)
    lines.start(3, 0, 200.0)
    lines.current("exchange (c003)")
    for _ in range(250):
        now[0] += 0.5
        lines.glimpse("A: 12.3 ms", "busiest link: x")
    assert out.getvalue().splitlines()[1:] == ["exchange (c003): A: 12.3 ms; busiest link: x"] * 2
