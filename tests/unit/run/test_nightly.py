# SPDX-License-Identifier: BSD-3-Clause
"""Nights of a watch: whose turn it is, when, and what the page and the numbers of the history say."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.errors import DataError, StudyError
from weft.fabric import load_fabric
from weft.kernel.studies import make_study
from weft.report.compare.history import Nights, write_nights
from weft.run.nightly import (
    HISTORY,
    History,
    Night,
    choose_nodes,
    make_watch,
    next_night,
    one_at_a_time,
    read_history,
)

BEGUN = datetime(2026, 1, 1, 2, tzinfo=UTC)
FABRIC = """\
name = "c"
kind = "slurm"
[node]
names = "n[00-23]"
cores = 4
memory = "8 GiB"
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
adapter_rate = "1 GB/s"
latency = "1 us"
[network.tree]
nodes_per_leaf = 4
uplinks = 2
link_rate = "1 GB/s"
"""


def watch(folder: Path, nodes: int = 4) -> Any:
    path = folder / "c.toml"
    path.write_text(FABRIC)
    series = [{"name": "s", "nodes": [2, nodes], "ranks_per_node": 1}]
    study = make_study({"name": "pairs", "kernel": "pairs", "series": series}, "pairs.toml")
    return make_watch(study, load_fabric(str(path)), "1d", "5min", folder / "watch")


def night(number: int, hosts: list[str], seconds: float = 1e-5, **more: Any) -> Night:
    begun = (BEGUN + timedelta(days=number)).isoformat()
    return Night(begun=begun, run=f"night-{number}", hosts=tuple(hosts), seconds={"all": seconds, "one": 1e-6}, **more)


@pytest.mark.parametrize("busy", [0, 6])
def test_every_node_and_every_leaf_is_visited_within_the_stated_number_of_nights(tmp_path: Path, busy: int) -> None:
    one = watch(tmp_path)
    assert one.round == 6
    history, dice = read_history(one), np.random.default_rng(busy)
    seen: list[set[str]] = []
    for number in range(30):
        taken = set(dice.choice(24, busy, replace=False).tolist())
        free = [host for place, host in enumerate(one.fabric.hosts) if place not in taken]
        chosen = choose_nodes(one, history, free)
        assert len(set(chosen) & set(free)) == 4
        seen.append(set(chosen))
        history = history.model_copy(update={"nights": (*history.nights, night(number, chosen))})
    window = 6 if not busy else 12
    for first in range(30 - window + 1):
        visited = set.union(*seen[first : first + window])
        assert visited == set(one.fabric.hosts), first
    if not busy:
        assert all(len({int(host[1:]) // 4 for host in chosen}) == 4 for chosen in seen), "a night has many leaves"


def test_too_few_free_nodes_are_refused_with_both_numbers(tmp_path: Path) -> None:
    one = watch(tmp_path)
    with pytest.raises(StudyError, match=r"3 of 24 nodes free: pairs asks for 4"):
        choose_nodes(one, read_history(one), one.fabric.hosts[:3])


def test_a_night_is_due_three_quarters_of_the_period_after_the_last(tmp_path: Path) -> None:
    one = watch(tmp_path)
    history = read_history(one)
    assert next_night(one, history) is None
    history = history.model_copy(update={"nights": (night(0, ["n00"]),)})
    assert next_night(one, history) == BEGUN + timedelta(hours=18)


def test_a_history_of_another_study_or_none_is_refused(tmp_path: Path) -> None:
    one = watch(tmp_path)
    (tmp_path / "watch").mkdir()
    for text in ("{", json.dumps({"study": "pairs"}), History(study="x", fabric="c", precision=0.05).model_dump_json()):
        (tmp_path / "watch" / HISTORY).write_text(text)
        with pytest.raises(DataError, match="history"):
            read_history(one)
    with pytest.raises(StudyError, match="--every 1d"):
        make_watch(one.study, one.fabric, "soon", "5min", None)


def history(planted: int = 20, count: int = 30) -> Nights:
    """Nights of which one changes the library and shows a slow cable."""
    dice = np.random.default_rng(3)
    nights: list[Night] = []
    for number in range(count):
        late = number >= planted
        seconds = 1e-5 * (1.3 if late else 1.0) * float(dice.lognormal(0, 0.01))
        facts = {"MPI library": f"Open MPI 5.0.{9 if late else 8}", "Linux": "6.1"}
        slow = ("leaf0 - spine1",) if late else ()
        nights.append(night(number, ["n00", "n01", "n02", "n03"], seconds, slow=slow, facts=facts))
    return Nights("pairs", "c", nights, 0.05, [f"n{place:02}" for place in range(24)])


def test_an_alarm_names_what_changed_and_when() -> None:
    found = history()
    assert [(alarm.at, alarm.seen, found.row_name(alarm)) for alarm in found.alarms] == [
        (20, 20, "all"),
        (20, 21, "all"),
    ]
    for alarm in found.alarms:
        assert alarm.factor == pytest.approx(1.3, abs=0.03)
        assert found.causes(alarm) == ["slow: leaf0 - spine1", "MPI library: Open MPI 5.0.8 -> Open MPI 5.0.9"]
    assert [row.id for row in found.card().rows] == ["watch.change", "watch.change"]
    assert history(planted=40).alarms == []
    assert [row.id for row in history(planted=40).card().rows] == ["watch.no-change"]


def named(names: dict[int, str], count: int = 60, slower: tuple[int, float] = (60, 1.0)) -> Nights:
    """Nights of 6 of 24 nodes that name parts, from one night on slower by a factor."""
    nights = [
        night(
            number,
            [f"n{number % 4 * 6 + place:02}" for place in range(6)],
            1e-5 * (slower[1] if number >= slower[0] else 1.0) * (1 + 0.001 * (number % 7)),
            slow=(names[number],) if number in names else (),
        )
        for number in range(count)
    ]
    return Nights("pairs", "c", nights, 0.05, [f"n{place:02}" for place in range(24)])


def test_a_part_is_told_on_the_night_that_names_it_and_once() -> None:
    lasting = {number: "leaf2 - spine0" for number in range(20, 60) if number != 29}  # one night was in doubt
    (alarm,) = named(lasting).alarms
    assert (alarm.at, alarm.seen) == (20, 20)
    assert named(lasting).causes(alarm) == ["slow: leaf2 - spine0"]
    assert [alarm.seen for alarm in named({**lasting, 33: "n03"}).alarms] == [20, 33]
    assert [alarm.seen for alarm in named(dict.fromkeys(range(20, 60, 4), "n03")).alarms] == [20], "in its turn"
    assert [alarm.seen for alarm in named({10: "n03", 40: "n03"}).alarms] == [10, 40], "mended in between"


def test_a_part_named_in_the_first_night_is_told_there() -> None:
    found = named({0: "n03", 1: "n03"})
    assert [(alarm.seen, found.causes(alarm)) for alarm in found.alarms] == [(0, ["slow: n03"])]
    (row,) = found.card().rows
    assert row.id == "watch.change" and "1.00x" not in row.text


def test_times_that_show_a_part_some_nights_later_name_it() -> None:
    found = named(dict.fromkeys(range(20, 60), "leaf2 - spine0"), slower=(23, 1.5))
    assert [(alarm.at, alarm.seen) for alarm in found.alarms] == [(20, 20), (23, 24)]
    assert found.causes(found.alarms[1]) == ["slow: leaf2 - spine0"]
    for names in (dict.fromkeys(range(5, 60), "n03"), {20: "n03"}):  # long known; no longer slow
        found = named(names, slower=(23, 1.5))
        assert found.alarms[-1].at == 23
        assert not any("n03" in cause for cause in found.causes(found.alarms[-1]))


def test_other_nodes_are_a_cause_only_where_nothing_else_is() -> None:
    nights = [
        night(number, [f"n{number % 6:02}"], 1e-5 * (2.0 if number >= 20 else 1.0) * (1 + 0.001 * (number % 7)))
        for number in range(25)
    ]
    found = Nights("pairs", "c", nights, 0.05, [f"n{place:02}" for place in range(6)])
    assert [found.causes(alarm) for alarm in found.alarms] == [["other nodes: n02"]]


def test_the_last_night_tells_its_alarm_once() -> None:
    assert history(count=22).last_alarm is not None
    assert history(count=23).last_alarm is None


def test_the_page_and_the_metrics_hold_the_last_night(tmp_path: Path) -> None:
    found = history(count=22)
    page = write_nights(found, tmp_path).read_text()
    assert "leaf0 - spine1" in page and page.count("<rect") >= 4 * 22
    lines = (tmp_path / "metrics.prom").read_text().splitlines()
    assert lines[-1] == "# EOF"
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values['weft_watch_alarm{study="pairs",fabric="c"}'] == "1"
    assert float(values['weft_watch_factor{study="pairs",fabric="c"}']) == pytest.approx(1.3, abs=0.03)
    assert float(values['weft_watch_seconds{study="pairs",fabric="c",row="one"}']) == 1e-6
    named = {line.split("{")[0] for line in lines if not line.startswith("#")}
    assert named == {line.split()[2] for line in lines if line.startswith("# TYPE")}


def test_a_night_that_runs_keeps_another_out(tmp_path: Path) -> None:
    one = watch(tmp_path)
    with one_at_a_time(one), pytest.raises(DataError, match="in use by another weft"), one_at_a_time(one):
        pass
    with one_at_a_time(one):
        assert [path.name for path in one.folder.iterdir()] == ["lock"]
