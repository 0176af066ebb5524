# SPDX-License-Identifier: BSD-3-Clause
"""A launch of several cells: the links' counters are read whenever the ranks begin the next one."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from made.waiting import wait_until
from weft.errors import LaunchError
from weft.files.beneath import Version
from weft.launch.launcher import LaunchRequest, Slot, read_slots
from weft.launch.virtual import launcher
from weft.launch.virtual.launcher import CellMarks
from weft.plan.records import LaunchCell
from weft.store.links import LinkCount, read_cell_links, read_links, write_links


def counts(bytes_: int) -> list[LinkCount]:
    return [LinkCount("a-s", "a", "s", 1e6, bytes_, bytes_ // 10, 0)]


class Ranks:
    """A launch, and a status file that says what its ranks do; each reading of the counters finds 100 bytes more."""

    def __init__(self, folder: Path, names: str) -> None:
        self.plan = folder / "x.plan"
        self.plan.write_text("no launcher reads this")
        asked = tuple(LaunchCell(name, "collective", {}, 2) for name in names.split())
        self.request = LaunchRequest("x", 2, ("a",), 2, "block", False, self.plan, folder, 0.0, cells=asked)
        self.status = self.request.file("status")
        self.status.parent.mkdir()
        self.readings = 0

    def read(self) -> list[LinkCount]:
        self.readings += 1
        return counts(100 * self.readings)

    def begin(self, cell: str, other: str = "alltoall warm busy") -> None:
        slots = (f"{cell} {words}".encode().ljust(64, b"\0") for words in ("- waiting for-others", other))
        self.status.write_bytes(b"".join(slots))


looks: list[Path] = []  # at the status


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look every 5 ms, so that no test waits."""

    def read(path: Path, before: Version | None = None) -> list[Slot]:
        found = read_slots(path, before)
        looks.append(path)
        return found

    monkeypatch.setattr(launcher, "EVERY_S", 0.005)
    monkeypatch.setattr(launcher, "read_slots", read)


def after_a_look() -> None:
    """Wait until the reader has seen the status again: it may compare that with what it saw before its reading."""
    before = len(looks)
    wait_until(lambda: len(looks) > before + 1)


def test_each_cell_gets_what_crossed_between_its_border_and_the_next(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000 c001 c002")
    with CellMarks(ranks.request, ranks.read) as marks:
        for borders, cell in enumerate(("c001", "c000", "c002"), 1):  # in the order of the launch, whatever that is
            ranks.begin(cell)
            wait_until(lambda borders=borders: ranks.readings == borders)
        ranks.begin("-")  # between launcher, and at the end, nobody is at one
        time.sleep(0.05)
    assert ranks.readings == 3
    found = marks.loads(counts(1000))
    assert {cell: own[0].bytes for cell, own in found.items()} == {"c001": 100, "c000": 100, "c002": 700}


def test_jobs_that_run_by_themselves_get_what_crossed_meanwhile_and_no_more(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000")
    asked = LaunchCell("c000", "interference", {"counted": 1}, 2)
    with CellMarks(replace(ranks.request, cells=(asked,)), ranks.read) as marks:
        for borders, job in enumerate(("stream@8 cold", "stream@8 counted", "- -", "incast counted", "- -"), 1):
            ranks.begin("c000", f"{job} busy")
            wait_until(lambda borders=borders: ranks.readings == borders)
            after_a_look()
    assert {job: own[0].bytes for job, own in marks.jobs().items()} == {"c000 stream@8": 100, "c000 incast": 100}
    assert marks.loads(counts(1000)) == {}  # one cell


def test_a_look_that_lasts_into_the_next_phase_tells_nothing_of_the_job_before(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000")
    asked = LaunchCell("c000", "interference", {"counted": 1}, 2)

    def slow() -> list[LinkCount]:
        if ranks.readings == 2:
            ranks.begin("c000", "stream@8 warm busy")
        return ranks.read()

    with CellMarks(replace(ranks.request, cells=(asked,)), slow) as marks:
        for borders, job in enumerate(("stream@8 cold", "stream@8 counted", "- -"), 1):
            ranks.begin("c000", f"{job} busy")
            wait_until(lambda borders=borders: ranks.readings == borders)
            after_a_look()
        time.sleep(0.05)
    assert marks.jobs() == {}


def test_a_look_is_good_while_the_rank_that_named_the_job_stays_whatever_others_do(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000")
    asked = LaunchCell("c000", "interference", {"counted": 2}, 3)

    def say(*others: str) -> None:
        slots = [f"c000 {words}".encode().ljust(64, b"\0") for words in ("- waiting for-others", *others)]
        ranks.status.write_bytes(b"".join(slots))

    def look() -> list[LinkCount]:
        if ranks.readings == 1:  # the last rank is later than the other
            say("stream@8 counted soon", "stream@8 counted soon")
        return ranks.read()

    with CellMarks(replace(ranks.request, cells=(asked,)), look) as marks:
        last = "- cold busy"
        for borders, step in enumerate((last, "stream@8 counted soon", "incast counted soon", "- - between"), 1):
            say(step, step if borders == 4 else last)  # all have ended the last job
            last = step
            wait_until(lambda borders=borders: ranks.readings == borders)
            after_a_look()
    assert {job: own[0].bytes for job, own in marks.jobs().items()} == {"c000 stream@8": 100, "c000 incast": 100}


def test_a_launch_of_one_cell_is_left_alone(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000")
    with CellMarks(ranks.request, ranks.read) as marks:
        ranks.begin("c000")
        time.sleep(0.05)
    assert ranks.readings == 0
    assert marks.loads(counts(1000)) == {}


def test_the_status_of_an_earlier_start_tells_nothing(tmp_path: Path) -> None:
    import os

    ranks = Ranks(tmp_path, "c000 c001")
    ranks.status.write_bytes(b"c000 A warm busy".ljust(64, b"\0"))
    os.utime(ranks.status, (1.0, 1.0))
    with CellMarks(ranks.request, ranks.read) as marks:
        time.sleep(0.05)
    assert marks.loads(counts(1)) == {}


def test_a_cluster_that_goes_down_in_between_ends_the_looking_and_nothing_else(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000 c001")

    def gone() -> list[LinkCount]:
        raise LaunchError("the counters cannot be read", "is it still up?")

    with CellMarks(ranks.request, gone) as marks:
        ranks.begin("c000")
        time.sleep(0.05)
        ranks.begin("c001")
        time.sleep(0.05)
    assert marks.loads(counts(1)) == {}


def test_the_loads_of_cells_are_kept_beside_those_of_the_launch(tmp_path: Path) -> None:
    path = tmp_path / "g000.l1.links.json"
    write_links(path, "g000.l1", "tbf", counts(300), {"c000": counts(100), "c001": counts(200)})
    assert read_links(path) == counts(300)
    assert read_cell_links(path) == {"c000": counts(100), "c001": counts(200)}
    write_links(path, "c000.l1", "tbf", counts(300))
    assert read_cell_links(path) == {}


def test_a_border_is_seen_within_a_look(tmp_path: Path) -> None:
    ranks = Ranks(tmp_path, "c000 c001")
    with CellMarks(ranks.request, ranks.read):
        ranks.begin("c000")
        wait_until(lambda: ranks.readings == 1)
        ranks.begin("c001")
        wait_until(lambda: ranks.readings == 2)
