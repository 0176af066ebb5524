# SPDX-License-Identifier: BSD-3-Clause
"""What another job does to a call: ratios of one launch, their cable and prediction, the claims, and how they print."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from made.plain_run import make_jobs_run, slow_jobs
from made.view import load_view
from weft.analyse.claims.kernels.interference import find_claims, find_counted
from weft.analyse.claims.make import Known
from weft.analyse.tables.answers import IMPACTS, ImpactRow
from weft.analyse.tables.claims import extras
from weft.bound.shared import Shared
from weft.kernel.registry import kernel_named
from weft.plan.stored import plan_of
from weft.report.figures import Figure
from weft.report.view import RunView
from weft.store.folder import RunFolder
from weft.store.links import LinkCount, job_key, links_file, write_links
from weft.store.rows import LAUNCH_TABLE, LaunchRow
from weft.words.card import card_rows, say


def measured(path: Path, seconds: Callable[[str], float], launches: int = 6) -> tuple[RunView, list[ImpactRow]]:
    view = load_view(make_jobs_run(path, seconds, launches))
    return view, IMPACTS.read(view.path)


def quiet_jobs(operation: str) -> float:
    """Traffic slows nothing."""
    return 0.04 if operation.startswith("stream") else 1e-3


@pytest.fixture(scope="module")
def slowed(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunView, list[ImpactRow]]:
    return measured(tmp_path_factory.mktemp("slowed") / "run", slow_jobs)


def test_the_impact_is_time_beside_the_traffic_over_time_alone(slowed: tuple[RunView, list[ImpactRow]]) -> None:
    rows = slowed[1]
    assert len(rows) == 8  # two victims, two places, two strengths
    for row in rows:
        assert row["factor"] == pytest.approx(1.3 if row["percent"] == 50 else 2.1, rel=0.02)
        assert row["low"] is not None and row["high"] is not None and row["p95"] is not None
        assert row["low"] <= row["factor"] <= row["high"]
        assert row["coverage"] == 0.95
        assert row["p99"] is None  # of 20 samples
        assert row["launches"] == 6


def test_the_cable_of_both_jobs_is_named_and_the_factor_of_bytes_predicted(
    slowed: tuple[RunView, list[ImpactRow]],
) -> None:
    for row in slowed[1]:
        shares = row["place"] == "alternating" and row["victim"] == "stream"
        if row["victim"] == "allreduce" and row["place"] == "alternating":
            assert row["link"]
            assert row["predicted"] is None  # of latency the model knows nothing
        elif shares:
            assert row["link"] == "leaf0 -> spine0"
            # two streams and two messages of the shift on one cable
            assert row["predicted"] == pytest.approx(2 if row["percent"] == 100 else 4 / 3, rel=5e-3)
        else:
            assert (row["link"], row["predicted"]) == ("", 1.0)


def test_the_worst_impact_is_claimed_with_its_cable_and_what_leaves_of_ones_own_save(tmp_path: Path) -> None:
    view, _ = measured(tmp_path / "run", lambda op: slow_jobs(op) if "stream" in op else 1e-3)
    (answer,) = view.claimed("answer")
    assert (answer["id"], answer["subject"]) == ("interference.slowed", "stream")
    assert (answer["low"] or 0) < 2.1 * 1.02
    more = extras(answer)
    assert (more["aggressor"], more["percent"], more["beside_nodes"]) == ("shift", 100, 4)
    ids = [each["id"] for each in view.claimed("breakdown")]
    assert {"shared.tail", "shared.bend"} <= set(ids)
    told = [say(each) for each in view.claims]
    assert all(row.value for row in told)
    assert card_rows(view.claims)[0].label == "Slowed"


def quiet_apart(folder: Path, **more: Any) -> RunView:
    """A run whose calls are slowed only where a cable is shared."""
    view, rows = measured(folder / "run", slow_jobs)
    quiet = {"factor": 1.0, "low": 0.99, "high": 1.01, "chance": 1.0}
    new = [{**row, **(quiet if row["link"] == "" else {}), **more} for row in rows if row["victim"] == "stream"]
    IMPACTS.write(view.path, [cast(ImpactRow, row) for row in new])
    return view


def test_a_place_where_nothing_is_shared_is_a_remedy(tmp_path: Path) -> None:
    view = quiet_apart(tmp_path)
    found = find_claims(Known(view.path, view.plan, view.rows))
    assert found[0]["id"] == "interference.slowed"
    link = next(each for each in found if each["id"] == "shared.link")
    assert (extras(link)["link"], extras(link)["predicted"]) == ("leaf0 -> spine0", pytest.approx(2, rel=5e-3))
    apart = next(each for each in found if each["id"] == "shared.apart")
    assert (apart["value"], extras(apart)["place"]) == (1.0, "other-leaf")
    remedy = next(each for each in found if each["kind"] == "remedy")
    assert remedy["id"] == "remedy.whole-leaves"
    assert remedy["value"] == pytest.approx(1 - 1 / 2.1, rel=0.02)
    assert remedy["next"].startswith("weft place {run}/fabric.toml --nodes 4 --beside node1,")


@pytest.mark.parametrize(
    ("window", "why"), [("65536", ""), ("0", "windows"), ("6291456", "windows"), (None, "windows")]
)
def test_a_prediction_is_checked_only_with_windows_as_they_were_measured(
    tmp_path: Path, window: str | None, why: str
) -> None:
    view = quiet_apart(tmp_path)
    settings = json.dumps({} if window is None else {"OMPI_MCA_btl_tcp_rcvbuf": window})
    launches = [cast(LaunchRow, {**row, "settings": settings}) for row in LAUNCH_TABLE.read(view.path)]

    def unchecked() -> str:
        LAUNCH_TABLE.write(view.path, launches)
        found = find_claims(Known(view.path, view.plan, view.rows))
        link = next(each for each in found if each["id"] == "shared.link")
        given = extras(link).get("unchecked", "")
        assert ("not verified" in say(link).note) == bool(given)
        return given

    assert unchecked() == why
    launches[-1]["settings"] = "{}"
    assert unchecked() == "windows"


def test_of_hashed_ways_the_counters_name_the_link_that_both_jobs_used_by_themselves() -> None:
    def counts(**sent: int) -> list[LinkCount]:
        ends = {"up0": ("leaf0", "spine0"), "up1": ("leaf0", "spine1"), "back1": ("spine1", "leaf0")}
        return [LinkCount(name, *ends[name], 8e6, sent.get(name, 0), 0, 0) for name in ends]

    own = counts(up1=4_000_000, back1=120_000)  # acknowledgements come back
    others = counts(up0=9_000_000, up1=2_000_000, back1=8_000_000)
    assert find_counted({"l1": own}, {"l1": others}) == Shared("leaf0 -> spine1", None)
    assert find_counted({"l1": own}, {"l1": counts(up0=9_000_000, back1=8_000_000)}) == Shared("", None)
    assert find_counted({}, {}) is None
    hashed = {"l1": own, "l2": counts(up0=4_000_000), "l3": own}  # each launch has connections of its own
    assert find_counted(hashed, dict.fromkeys(hashed, others)) == Shared("leaf0 -> spine1", None)


def test_counters_of_one_launch_are_never_taken_with_those_of_another(tmp_path: Path) -> None:
    """Late looks leave holes: the call was counted in four launches, the traffic in two of them."""
    run = make_jobs_run(tmp_path / "run", launches=4, hashed=True)
    plan = plan_of(RunFolder(run))
    for launch in plan.launches:
        cable = ("up0", "leaf0", "spine0") if launch.index % 2 else ("up1", "leaf0", "spine1")
        sent = [LinkCount(*cable, 8e6, 1_000_000, 0, 0)]  # of both jobs, another one in each launch
        cells = [each for each in map(plan.cell, launch.cells) if each.parameters.get("counted")]
        jobs = {each.id: kernel_named(each.kernel).jobs(each.parameters, each.ranks) for each in cells}
        keys = [
            job_key(name, job)
            for name, each in jobs.items()
            if each
            for job in (each.alone, *(each.words if launch.index in (2, 4) else ()))
        ]
        write_links(links_file(run, launch.id), launch.id, "made", sent, {}, dict.fromkeys(keys, sent))
    rows = IMPACTS.read(load_view(run).path)
    assert {row["link"] for row in rows if row["place"] == "alternating"} == {"leaf0 -> spine1"}


def test_a_run_on_hashed_ways_names_the_link_from_its_counters_and_predicts_nothing(tmp_path: Path) -> None:
    run = make_jobs_run(tmp_path / "run", launches=4, hashed=True)
    plan = plan_of(RunFolder(run))
    sent = [LinkCount("cable", "leaf0", "spine1", 8e6, 1_000_000, 0, 0)]
    for launch in plan.launches:
        cells = [each for each in map(plan.cell, launch.cells) if each.parameters.get("counted")]
        jobs = {each.id: kernel_named(each.kernel).jobs(each.parameters, each.ranks) for each in cells}
        shown = {each.id for each in cells if each.parameters["counted"] > 1}  # one cell counts traffic for its place
        keys = [
            job_key(name, job)
            for name, each in jobs.items()
            if each
            for job in (each.alone, *(each.words if name in shown else ()))
        ]
        assert len(shown) < len(cells)
        write_links(links_file(run, launch.id), launch.id, "made", sent, {}, dict.fromkeys(keys, sent))
    rows = IMPACTS.read(load_view(run).path)
    found = {(row["place"], row["link"], row["predicted"]) for row in rows}
    assert found == {("alternating", "leaf0 -> spine1", None), ("other-leaf", "", 1.0)}  # in a leaf one way is known


def test_more_connections_than_the_model_follows_are_no_latency(tmp_path: Path) -> None:
    view = quiet_apart(tmp_path, predicted=None)
    found = find_claims(Known(view.path, view.plan, view.rows))
    link = next(each for each in found if each["id"] == "shared.link")
    assert "connections" in say(link).note


def test_jobs_that_leave_each_other_alone_are_not_slowed(tmp_path: Path) -> None:
    view, _ = measured(tmp_path / "run", quiet_jobs)
    (answer,) = view.claimed("answer")
    assert answer["id"] == "interference.clear"
    assert "remedy.whole-leaves" not in {each["id"] for each in view.claimed("remedy")}


@pytest.mark.parametrize(("high", "name"), [(1.09, "clear"), (3.1, "inconclusive")])
def test_an_interval_that_reaches_a_large_factor_is_not_clear(tmp_path: Path, high: float, name: str) -> None:
    """1.8 (1.02 to 3.1) was "Not slowed"."""
    view, rows = measured(tmp_path / "run", quiet_jobs)
    wide = {"factor": min(1.8, high), "low": 1.02, "high": high}
    IMPACTS.write(view.path, [cast(ImpactRow, {**rows[0], **wide}), *rows[1:]])
    (answer, *_) = find_claims(Known(view.path, view.plan, view.rows))
    assert answer["id"] == f"interference.{name}"
    assert say(answer).value


@pytest.mark.parametrize(("factor", "name"), [(1.13, "inconclusive"), (1.3, "slowed")])
def test_the_worst_of_many_rows_is_slowed_only_beyond_chance(tmp_path: Path, factor: float, name: str) -> None:
    """1.13 with its interval above 1.1, p = 0.01: one of eight rows is that slow by chance in every twelfth run."""
    kind = "stream+shift.50@"
    view, rows = measured(tmp_path / "run", lambda op: quiet_jobs(op) * (factor if op.startswith(kind) else 1))
    (worst, *_) = sorted(rows, key=lambda row: -row["factor"])
    assert worst["low"] is not None and worst["low"] > 1.1
    (answer,) = view.claimed("answer")
    assert answer["id"] == f"interference.{name}"


def test_leaves_that_may_be_as_slow_are_no_remedy(tmp_path: Path) -> None:
    view, rows = measured(tmp_path / "run", slow_jobs)
    noisy = {"factor": 1.0, "low": 0.9, "high": 2.5, "chance": 1.0}
    IMPACTS.write(view.path, [cast(ImpactRow, {**row, **noisy}) if row["link"] == "" else row for row in rows])
    found = find_claims(Known(view.path, view.plan, view.rows))
    assert found[0]["id"] == "interference.slowed"
    assert not [each for each in found if each["kind"] == "remedy"]


def test_two_launches_give_no_answer(tmp_path: Path) -> None:
    view, _ = measured(tmp_path / "run", slow_jobs, launches=2)
    (answer,) = view.claimed("answer")
    assert answer["id"] == "interference.inconclusive"
    assert "--launches 4" in answer["next"]


def test_the_page_has_a_tile_for_each_call_beside_each_kind_of_traffic(
    slowed: tuple[RunView, list[ImpactRow]],
) -> None:
    view, rows = slowed
    (figure,) = view.story.figures(view)
    (table,) = view.story.tables(view)
    assert len(table.rows) == 1 + len(rows)
    assert isinstance(figure, Figure)
    drawn = figure.specifications()
    assert len(drawn) == 2
    assert sum(len(each) for panel in drawn for each in panel["datasets"].values()) == len(rows)
