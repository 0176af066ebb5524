# SPDX-License-Identifier: BSD-3-Clause
"""Counted links in tables, headline and figure: the verdict follows the link that was full, by the bound's name."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from made.links import counts, make_virtual_run
from made.run import make_run
from made.view import load_view
from weft.analyse.links import LAUNCH, OPERATIONS, bottlenecks, load_rows, operation_seconds, rows_of, volumes
from weft.analyse.make import make_tables
from weft.analyse.tables.breakdown import BOTTLENECKS, LINKS, LOADS, LoadRow
from weft.fabric.drawing.sketch import LinkLoad, sketch_loads
from weft.kernel.steps import ROUNDS, TURNS
from weft.plan.records import Cell
from weft.report.export import as_json, show_object
from weft.report.figures.proof import link_load, links_figure
from weft.report.tables import drawn_cells, reading, render
from weft.report.view import RunView
from weft.store.links import LinkCount, links_file, write_links
from weft.store.parquet import convert
from weft.store.tables import read_table


@pytest.fixture(scope="module")
def narrow_uplinks(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """Uplinks of an eighth of what their two hosts inject."""
    return load_view(make_virtual_run(tmp_path_factory.mktemp("links") / "uplinks", adapter=64e6, uplink=16e6))


@pytest.fixture(scope="module")
def narrow_hosts(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """Hosts' links of an eighth of an uplink."""
    return load_view(make_virtual_run(tmp_path_factory.mktemp("links") / "hosts", adapter=16e6, uplink=128e6))


def test_the_table_has_both_directions_of_every_link_of_every_launch(narrow_uplinks: RunView) -> None:
    rows = LINKS.read(narrow_uplinks.path)
    assert len(rows) == 12 * len(narrow_uplinks.plan.launches)
    four = [row for row in rows if row["nodes"] == 4 and row["cell"].startswith("c")]
    row = next(row for row in four if (row["source"], row["target"]) == ("leaf0", "spine0"))
    assert [row[key] for key in ("link", "cable", "direction", "host_link")] == [
        "link leaf0 up", "leaf0-spine0", "up", False,
    ]  # fmt: skip
    assert (row["basis"], row["method"], row["rate"]) == (OPERATIONS, "tbf", 16e6)
    assert row["share"] == pytest.approx(row["bytes"] / 16e6 / row["seconds"])
    assert row["share"] == pytest.approx(0.8, rel=0.05)
    back = next(row for row in four if row["target"] == "node2")
    assert (back["link"], back["direction"], back["host_link"]) == ("link node2 down", "down", True)


def test_the_verdict_names_the_uplink_where_it_is_narrow(narrow_uplinks: RunView) -> None:
    found = {each["nodes"]: each for each in BOTTLENECKS.read(narrow_uplinks.path)}
    assert found[4]["name"] == found[4]["bound"] == "link leaf0 up"
    assert found[2]["name"] == found[2]["bound"] == "injection"
    assert found[1]["name"] == "memory copy"


def test_the_verdict_names_the_hosts_links_where_they_are_narrow(narrow_hosts: RunView) -> None:
    found = {each["nodes"]: each for each in BOTTLENECKS.read(narrow_hosts.path)}
    assert found[4]["name"] == found[4]["bound"] == "injection"


def test_where_no_link_is_busy_none_is_named(tmp_path: Path) -> None:
    view = load_view(make_virtual_run(tmp_path / "run", adapter=64e6, uplink=16e6, reached=0.05, launches=1))
    found = {each["nodes"]: each for each in BOTTLENECKS.read(view.path)}
    assert found[4]["name"] == ""
    assert found[4]["bound"] == "link leaf0 up"
    assert "no link" in render(view)


def test_a_bound_that_names_another_link_than_the_counters_gives_way(narrow_uplinks: RunView) -> None:
    rows = [row | {"bound": "injection"} for row in narrow_uplinks.rows]
    found = bottlenecks(rows, load_rows(LINKS.read(narrow_uplinks.path)), "C")[-1]
    assert found["bound"] == "injection"
    assert found["name"].startswith("link leaf")


def test_the_tables_show_the_busiest_links_and_leave_idle_ones_out(narrow_uplinks: RunView) -> None:
    text = render(narrow_uplinks)
    assert "Bottlenecks (virtual network)" in text
    two = text[text.index("Load of the links at N = 2") : text.index("Load of the links at N = 4")]
    assert "node0-leaf0" in two
    assert "node3-leaf1" not in two
    assert "leaf0-spine0" in text[text.index("Load of the links at N = 4") :]


def test_the_json_has_the_links_and_what_holds_back(narrow_uplinks: RunView) -> None:
    told = json.loads(as_json(narrow_uplinks))
    assert {each["name"] for each in told["bottlenecks"]} == {"memory copy", "injection", "link leaf0 up"}
    assert {row["link"] for row in told["links"]} >= {"link leaf1 down", "link node0 up"}


def test_the_drawing_has_a_line_for_each_direction_and_says_that_the_network_is_virtual(
    narrow_uplinks: RunView,
) -> None:
    figure = links_figure(narrow_uplinks)
    assert figure is not None
    assert figure.title == "Load of the links (virtual network)"
    assert len(figure.panels) == 2  # N = 2 and N = 4
    drawn = json.dumps(figure.whole())
    for text in ("node3", "leaf1", "spine0", "link leaf0 up", "78 %"):
        assert text in drawn
    assert "busiest link is link leaf" in figure.reading
    assert "the hosts' own links at most 1" in figure.reading


def test_the_links_drawn_are_those_of_the_cell_whose_bottleneck_is_stated(tmp_path: Path) -> None:
    view = load_view(make_virtual_run(tmp_path / "run", adapter=64e6, uplink=16e6))
    stated = next(each for each in BOTTLENECKS.read(view.path) if each["nodes"] == 4)
    rows = LOADS.read(view.path)
    heavier = [  # another cell of four nodes moved ten times the bytes, and filled no link
        cast(
            "LoadRow",
            {**row, "cell": cell, "moved_bytes": 10 * row["moved_bytes"], "bytes": 10 * row["bytes"], "share": 0.01},
        )
        for cell in ("a-first", "z-last")
        for row in rows
        if row["cell"] == stated["cell"]
    ]
    LOADS.write(view.path, [row for row in heavier if row["cell"] == "a-first"] + rows + heavier[len(heavier) // 2 :])
    drawn = {nodes: cell for nodes, _, cell, _ in drawn_cells(view)}
    assert drawn[4] == stated["cell"]
    assert stated["busiest"] is not None
    assert f"{stated['busiest']['share']:.0%}".replace("%", " %") in reading(view)


def test_every_switch_stands_above_the_middle_of_what_hangs_on_it() -> None:
    rows = rows_of(counts(4, 1000, 1e6, 1e6), HOSTS, of_launch(4, 1.0))
    found = load_rows(row | {"cell": "c", "nodes": 4, "ranks": 4, "seconds": 1.0} for row in rows)
    plan = sketch_loads([link_load(load) for load in reversed(found)], HOSTS, 1.0)  # busiest first, in a run
    x = {place.names: place.x for place in plan.places}
    assert x["leaf0"] == pytest.approx((x["node0"] + x["node1"]) / 2)
    assert x["spine0"] == pytest.approx(0.5)
    assert [x[host] for host in HOSTS] == [0.125, 0.375, 0.625, 0.875]
    up = [line for line in plan.lines if line.points[0][1] > line.points[1][1]]
    assert len(up) == 6
    assert len({line.points[0][1] - line.points[1][1] for line in up}) == 1  # each climbs one row


@pytest.mark.parametrize("hosts", [4, 16])
def test_labels_touch_neither_each_other_nor_are_all_left_out(hosts: int) -> None:
    names = [f"n{k}" for k in range(hosts)]
    cables = [(name, f"leaf{k // 2}") for k, name in enumerate(names)]
    cables += [(f"leaf{k}", "spine0") for k in range(hosts // 2)]
    loads = [
        LinkLoad(*ends, f"cable {number}", 0.62, "62 %")
        for number, cable in enumerate(cables)
        for ends in (cable, cable[::-1])
    ]
    loads[2:4] = [replace(load, value=1.0, text="100 %") for load in loads[2:4]]
    lines = [line for line in sketch_loads(loads, names, 300.0).lines if line.label]
    assert len(lines) == len(cables) if hosts == 4 else 0 < len(lines) < len(cables)
    assert any("100 %" in line.label for line in lines)  # what is left out is not the busiest
    for one, other in combinations(lines, 2):
        (x, y), (x2, y2) = one.label_at, other.label_at
        assert abs(y - y2) > 12 or abs(x - x2) >= 6.5 * (len(one.label) + len(other.label)) / 2


HOSTS = tuple(f"node{k}" for k in range(4))


def of_launch(nodes: int, seconds: float) -> dict[str, Any]:
    """What all rows of a launch of one cell say."""
    at = {"cell": "c000", "launch": 1, "launch_id": "c000.l1", "nodes": nodes, "ranks": nodes}
    return {**at, "seconds": seconds, "basis": OPERATIONS, "method": "tbf"}


def test_ports_of_hosts_alone_make_a_star(tmp_path: Path) -> None:
    # what perfquery tells: a host's port and the fabric behind it, of an unknown rate
    ports = [LinkCount(f"n{k}-fabric", f"n{k}", "fabric", 0.0, 10**6, 100, 0) for k in range(3)]
    rows = rows_of(ports, ("n0", "n1", "n2"), of_launch(3, 2.0))
    assert [row["link"] for row in rows] == ["link n0 up", "link n1 up", "link n2 up"]
    assert {row["share"] for row in rows} == {None}
    found = load_rows(row | {"cell": "c", "nodes": 4, "ranks": 4, "seconds": 2.0} for row in rows)
    plan = sketch_loads([link_load(load) for load in found], ("n0", "n1", "n2"), 300.0)
    row = {place.names: place.y for place in plan.places}
    assert row["fabric"] < row["n0"] == row["n1"] == row["n2"]
    assert not any(line.label for line in plan.lines)  # of an unknown rate no share is written


def test_a_run_whose_links_nobody_counted_has_an_empty_table_and_no_figure(tmp_path: Path) -> None:
    view = load_view(make_run(tmp_path / "run"))
    assert LINKS.read(view.path) == []
    assert links_figure(view) is None
    assert not {"bottlenecks", "links"} & show_object(view).keys()
    (tmp_path / "run/tables/links.parquet").unlink()  # as an earlier Weft left it
    assert links_figure(view) is None


def test_a_launch_that_timed_nothing_counts_over_its_whole_length(tmp_path: Path) -> None:
    path = make_virtual_run(tmp_path / "run", adapter=64e6, uplink=16e6, launches=1)
    launch = next(each for each in json.loads((path / "plan.json").read_text())["launches"] if each["nodes"] == 4)
    cell = launch["cells"][0]
    record = path / "cells" / f"{cell}.l{launch['index']}.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "status": "timeout", "segments": []}))
    (path / "launches" / f"{launch['id']}.outcome.json").write_text('{"wall_s": 4.0}')
    convert(path)
    make_tables(path)
    rows = [row for row in read_table(path, "links").to_pylist() if row["launch_id"] == launch["id"]]
    assert {(row["basis"], row["seconds"]) for row in rows} == {(LAUNCH, 4.0)}


def test_a_launch_of_several_cells_is_called_by_its_batch(tmp_path: Path) -> None:
    path = make_virtual_run(tmp_path / "run", adapter=64e6, uplink=16e6, launches=1)
    plan = json.loads((path / "plan.json").read_text())
    first, second = (each for each in plan["launches"] if each["nodes"] == 4 and each["cells"][0].startswith("c"))
    cells = [name for each in (first, second) for name in each["cells"] if name.startswith("c")]
    batch = first | {"id": "g000.l1", "cells": cells}
    plan["launches"] = [each for each in plan["launches"] if each not in (first, second)] + [batch]
    (path / "plan.json").write_text(json.dumps(plan))
    write_links(links_file(path, "g000.l1"), "g000.l1", "tbf", counts(4, 10**9, 64e6, 16e6))
    view = load_view(path)
    rows = [row for row in LINKS.read(view.path) if row["launch_id"] == "g000.l1"]
    assert {row["cell"] for row in rows} == {"g000"}
    figure = links_figure(view)
    assert figure is not None
    assert "(g000" in render(view)
    # where the borders of its cells were seen, each cell has its own load
    own = {cell: counts(4, size, 64e6, 16e6) for cell, size in zip(batch["cells"], (10**9, 10**8), strict=True)}
    write_links(links_file(path, "g000.l1"), "g000.l1", "tbf", counts(4, 11 * 10**8, 64e6, 16e6), own)
    make_tables(path)
    rows = [row for row in read_table(path, "links").to_pylist() if row["launch_id"] == "g000.l1"]
    moved = {row["cell"]: row["bytes"] for row in rows if row["link"] == "link leaf0 up"}
    assert moved == {batch["cells"][0]: 250_000_000, batch["cells"][1]: 25_000_000}
    view = load_view(path)
    assert BOTTLENECKS.read(view.path)[-1]["cell"] in moved
    assert f"({BOTTLENECKS.read(view.path)[-1]['cell']}" in render(view)


def timed(ops: str, **volumes: float) -> float:
    """Seconds of a cell whose operations were called 15 times each (warm-up, samples, proof), half a second a call."""
    segments = [
        {"cell": "c", "launch": 1, "op": op, "phase": "warm", "warmup": 2, "count": 3, "batch": 4} for op in ops.split()
    ]
    times = {("c", 1, op, "warm"): 0.5 for op in ops.split()}
    proven = [{"cell": "c", "launch": 1, "validated": True}]
    return operation_seconds(segments, times, proven, lambda _, op: volumes.get(op))["c", 1]


def test_operations_that_move_next_to_nothing_do_not_thin_out_the_share() -> None:
    assert timed("A B C") == 3 * 7.5  # nothing known: all of them count
    assert timed("A B C", A=4, B=1e3, C=1e6) == 7.5
    assert timed("B C", B=6e5, C=1e6) == 2 * 7.5


def test_steps_of_an_operation_timed_as_a_whole_are_not_counted_twice() -> None:
    assert timed("sort A C merge total") == 7.5
    assert timed("sort A C merge total", A=4, C=1e6, total=1e6) == 7.5


def test_the_plain_messages_of_a_breakdown_are_time_on_the_links_too() -> None:
    plan = SimpleNamespace(
        id="c", kernel="collective", nodes=4, ranks=8, ranks_per_node=2,
        parameters={"collective": "alltoall", "form": "plain", "bytes": [1024], "ranks": 8},
    )  # fmt: skip
    volume = volumes([cast("Cell", plan)])
    whole = volume("c", "alltoall@1024")
    assert whole == 2 * 6 * 1024
    steps = {step: volume("c", f"alltoall@1024:{step}") for step in (*TURNS, ROUNDS)}
    assert steps == {"within": 0, "between": whole / 4, "shift": whole, "pairwise": whole, "rounds": 0}


def test_turns_of_a_breakdown_are_proven_by_nobody() -> None:
    # 2 + 3 * 4 turns a step of half a second, and the call once more for its proof
    assert timed("C C:shift C:between C:within C:rounds", **{"C": 1, "C:shift": 1, "C:between": 0.25}) == 7.5 + 2 * 7
