# SPDX-License-Identifier: BSD-3-Clause
"""A run with a time: an answer after its first round, more rounds while there is time, more time for the same run."""

from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from weft.fabric import Fabric, load_fabric
from weft.host import Host, Limit
from weft.kernel.studies import Overrides, load_study
from weft.plan.make import make_plan
from weft.plan.stored import plan_of
from weft.run import refine
from weft.run.one import run_study, statuses
from weft.run.progress import Progress
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")


HOST = Host("here", 2, 16 * 2**30, (Limit(15 * 2**30, "MemAvailable"),))


class Clock:
    """Time that passes when a launch runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(refine.time, "monotonic", lambda: self.now)


class Timed(FakeLauncher):
    """Each launch takes some seconds of a clock."""

    def __init__(self, clock: Clock, each_s: float, faults: dict[str, str] | None = None) -> None:
        super().__init__(faults or {}, wall_s=each_s)
        self.before = lambda _: setattr(clock, "now", clock.now + each_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def asked(study: Study, time: str) -> Study:
    return load_study(study.path, Overrides(time=time))


def test_rounds_follow_until_the_time_is_up_and_tables_are_there_after_each(
    study: Study, fabric: Fabric, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "is_precise", lambda *_: False)
    shown: list[tuple[int, bool]] = []

    def show(folder: RunFolder, rounds: int, _: Progress) -> None:
        shown.append((rounds, (folder.tables / "calls.parquet").is_file()))

    monkeypatch.setattr(refine, "show_so_far", show)
    launcher = Timed(clock, 2.0)
    folder = run_study(asked(study, "40 s"), fabric, tmp_path / "run", launcher, shows=True)
    # three launches of 2 s are a round: six rounds take 36 s, a seventh would end after 42
    assert shown == [(rounds, True) for rounds in range(1, 7)]
    assert set(statuses(folder)) == {"ok"}
    assert plan_of(folder).measure.launches == 6
    assert len({name.rpartition(".")[2] for name in launcher.started}) == 6


def test_a_run_that_is_precise_stops_after_four_launches_and_not_before(
    study: Study, fabric: Fabric, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "is_precise", lambda *_: True)
    folder = run_study(asked(study, "10 min"), fabric, tmp_path / "run", Timed(clock, 0.1))
    assert plan_of(folder).measure.launches == 4


def test_a_time_that_is_too_short_leaves_a_whole_run_of_fewer_launches_which_more_time_refines(
    study: Study, fabric: Fabric, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "is_precise", lambda *_: False)
    folder = run_study(asked(study, "5 s"), fabric, tmp_path / "run", Timed(clock, 2.0))
    plan = plan_of(folder)
    assert plan.measure.launches == 2  # 12 s; a third round would end after 18, over three times the 5 s
    assert set(statuses(folder)) == {"ok"}
    before = {path.name: path.read_bytes() for path in folder.cells.iterdir()}
    again = Timed(clock, 2.0)
    run_study(asked(study, "30 s"), fabric, tmp_path / "run", again, more=True)
    longer = plan_of(folder)
    assert longer.launches[: len(plan.launches)] == plan.launches
    assert longer.measure.budget == plan.measure.budget
    assert longer.measure.launches == 5
    after = {path.name: path.read_bytes() for path in folder.cells.iterdir()}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("round_s", [12.0, 30.0, 44.0])
def test_a_minute_has_four_launches_where_a_round_takes_up_to_three_quarters_of_it(
    study: Study, fabric: Fabric, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, round_s: float
) -> None:
    monkeypatch.setattr(refine, "is_precise", lambda *_: False)
    shown: list[int] = []
    monkeypatch.setattr(refine, "show_so_far", lambda _folder, rounds, _progress: shown.append(rounds))
    folder = run_study(asked(study, "1 min"), fabric, tmp_path / "run", Timed(clock, round_s / 3), shows=True)
    launches = plan_of(folder).measure.launches
    assert launches == max(4, 60 // round_s)
    # where time is short, the answer after the first launch is followed by the one of four
    assert shown == (list(range(1, launches + 1)) if 4 * round_s < 60 else [1, 4])


def test_an_interrupted_run_goes_on_by_the_same_command(
    study: Study, fabric: Fabric, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine, "is_precise", lambda *_: False)
    given = asked(study, "30 s")
    with pytest.raises(KeyboardInterrupt):
        run_study(given, fabric, tmp_path / "run", Timed(clock, 2.0, {"c001.l2": "interrupt"}))
    folder = RunFolder(tmp_path / "run")
    assert (folder.tables / "calls.parquet").is_file()  # of the first round
    run_study(given, fabric, tmp_path / "run", Timed(clock, 2.0))
    assert set(statuses(folder)) == {"ok"}
    assert plan_of(folder).measure.launches >= 4


def test_the_budget_of_an_operation_is_what_fits_into_the_time(study: Study, fabric: Fabric) -> None:
    short, long = (make_plan(asked(study, time), fabric).measure.budget for time in ("20 s", "2 h"))
    assert short < long == study.measure.budget
    plan = make_plan(asked(study, "1 min"), fabric)
    assert plan.measure.launches == 4
    assert plan.measure.time == 60


CALLS_AT_LEAST = 2 + 5 * 2  # first call, proof; then call and four steps of its breakdown, warmed up and sampled once


@pytest.mark.parametrize("name", sorted(path.stem for path in Path("fabrics").glob("virtual-*.toml")))
def test_four_launches_of_the_contention_study_fit_into_its_minute_where_calls_take_twice_their_bounds(
    name: str,
) -> None:
    """Blocks of 1.3 MiB took 0.4 s a call over links of 0.5 Gbit/s, 12 times in each cell: three launches in 90 s."""
    plan = make_plan(load_study("contention", Overrides()), load_fabric(name), host=HOST)
    cells = [cell for cell in plan.measured if cell.status == "planned"]
    calls_s = sum(2 * cell.bounds["C"].seconds * CALLS_AT_LEAST for cell in cells)
    others_s = sum(2 * plan.measure.budget for _ in cells)  # A and B end by their budgets
    starts_s = 1.5 * len(cells)
    assert 4 * (calls_s + others_s + starts_s) < plan.measure.time
    assert max(cell.bounds["C"].seconds for cell in cells) > 5e-3  # and are no small messages


def test_arrays_keep_their_size_where_four_launches_fit() -> None:
    plan = make_plan(load_study("contention", Overrides()), load_fabric("local"), host=HOST)
    assert {cell.array_bytes for cell in plan.measured if "constant-global" in cell.series} == {64 * 2**20}
    assert not [note for note in plan.notes if note.startswith("arrays")]
    given = load_study("contention", Overrides(launches=4))  # no time: the study's own size
    asked_for = make_plan(given, load_fabric("virtual-default"), host=HOST)
    (array,) = {cell.array_bytes for cell in asked_for.measured if "constant-global" in cell.series}
    assert array == pytest.approx(0.01 * 2 * 2**30, rel=0.02)


def test_what_an_expert_asks_of_launches_or_samples_ends_the_studys_own_time() -> None:
    assert load_study("contention", Overrides()).measure.time == 60
    assert load_study("contention", Overrides(time="10min")).measure.time == 600
    for overrides in (Overrides(launches=3), Overrides(quick=True), Overrides(budget="1 s")):
        assert load_study("contention", overrides).measure.time == 0
    assert load_study("contention", Overrides(launches=3, time="2 min")).measure.time == 120
