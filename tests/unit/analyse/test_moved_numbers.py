# SPDX-License-Identifier: BSD-3-Clause
"""Every number of a fabric file is moved where a verdict may depend on it, or is named as left out, with a reason."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from pydantic import BaseModel

from weft.analyse.sensitivity import Point
from weft.analyse.tables.times import CallRow
from weft.fabric import load_fabric
from weft.fabric.model import Fabric
from weft.fabric.numbers import SPREADS, Doubtful, doubtful
from weft.kernel.studies import load_study
from weft.plan.make import make_plan

SECTIONS = ("node", "network", "simulation")
MOVED = {spread.key for spread in SPREADS}
DOCS = Path(__file__).parents[3] / "docs" / "dev" / "simulation.md"
#: Numbers that are not moved, with the reason of each: a number with a section of its own by that section's key.
LEFT_OUT = {
    key: why.strip()
    for keys, why in re.findall(
        r"^\| (`.+`) \|(.+)\|$", DOCS.read_text().split("## What is not moved")[1].split("\n## ")[0], re.M
    )
    for key in re.findall(r"`([^`]+)`", keys)
}


def types_of(annotation: Any) -> Iterator[Any]:
    """The types that a field may have, without what surrounds them."""
    inner = get_args(annotation)
    if not inner:
        yield annotation
    for each in inner:
        yield from types_of(each)


def numbers_below(model: type[BaseModel], prefix: str) -> Iterator[str]:
    """Keys of all fields with a number in them, those of sections below included."""
    for name, field in model.model_fields.items():
        kinds = [kind for kind in types_of(field.annotation) if isinstance(kind, type)]
        sections = [kind for kind in kinds if issubclass(kind, BaseModel)]
        for section in sections:
            yield from numbers_below(section, f"{prefix}{name}.")
        if not sections and any(kind in (int, float) for kind in kinds):
            yield f"{prefix}{name}"


NUMBERS = [key for section in SECTIONS for key in numbers_below(Fabric, "") if key.startswith(f"{section}.")]


def covered(key: str) -> bool:
    """Whether a key, or the section it stands in, is moved or left out."""
    parts = key.split(".")
    return key in MOVED or any(".".join(parts[:end]) in LEFT_OUT for end in range(2, len(parts) + 1))


def test_the_numbers_are_found_by_themselves() -> None:
    assert {"node.latency", "network.tree.link_latency", "network.segments.rate", "simulation.budget"} <= set(NUMBERS)
    assert len(NUMBERS) > 40


@pytest.mark.parametrize("key", NUMBERS)
def test_each_number_is_moved_or_left_out_with_a_reason(key: str) -> None:
    assert covered(key), f"give {key} a Spread in weft/fabric/numbers.py, or a reason in {DOCS}"
    # a section is left out for its counts: its rates and latencies are moved, but where the whole is a measurement
    if key.rpartition(".")[2].endswith(("rate", "latency")):
        assert key in MOVED or key.startswith(("network.dump.", "network.segments."))


def test_nothing_is_both_moved_and_left_out_and_every_reason_is_of_a_number() -> None:
    assert len(LEFT_OUT) > 15
    assert not MOVED & set(LEFT_OUT)
    for key, why in LEFT_OUT.items():
        assert why
        assert any(f"{number}.".startswith(f"{key}.") for number in NUMBERS), f"{key} is no number of a fabric"


FILE = """
name = "guessed"
kind = "simulated"
[node]
names = "n[0-63]"
cores = 8
copy_rate = "80 GB/s"
latency = "300 ns"
{node}
[network]
topology = "{topology}"
latency = "1.2 us"
adapter_rate = "{rate}"
{keys}
{section}
[simulation]
"""
SHAPES = {
    "tree": (
        "fat-tree",
        "[network.tree]\nnodes_per_leaf = 8\nuplinks = 1\nlink_rate = '{leaf}'\nlink_latency = '100 ns'\n"
        "leaves_per_pod = 2\npod_uplinks = 1\npod_link_rate = '{top}'\npod_link_latency = '100 ns'\n",
    ),
    "torus": ("torus", "[network.torus]\ndimensions = [8, 8]\nlink_rate = '{top}'\nlink_latency = '100 ns'\n"),
    "dragonfly": (
        "dragonfly",
        "[network.dragonfly]\nnodes_per_router = 2\nrouters_per_group = 4\nglobal_links = 2\nlocal_rate = '{leaf}'\n"
        "global_rate = '{top}'\nlocal_latency = '100 ns'\nglobal_latency = '300 ns'\n",
    ),
}  # fmt: skip
STUDY = """
name = "growing"
kernel = "exchange"
explain = false
[exchange]
data = "contention"
calls = ["C"]
[[series]]
name = "weak"
scaling = "weak"
nodes = [1, 64]
ranks_per_node = 2
n = 16384
m = {m}
"""
COSTS = {
    "network.message_gap": "message_gap = '5 us'",
    "network.rendezvous_stall": "eager_limit = '64 B'\nrendezvous_stall = '5 us'",
    "network.eager_overhead": "eager_limit = '64 KiB'\neager_overhead = '1 us'\noverhead = '5 us'",
    "network.eager_limit": "eager_limit = '64 KiB'\neager_overhead = '1 us'\noverhead = '5 us'",
}


def points(folder: Path, key: str) -> tuple[Doubtful, list[Point]]:
    """A number of a machine that nobody gave a source for, and the cells of a series on it."""
    part = key.split(".")[1]
    topology, section = SHAPES.get(part, ("star", ""))
    slow = ("100 MB/s", "10 GB/s") if key.endswith((".local_rate", "tree.link_rate")) else ("10 GB/s", "100 MB/s")
    text = FILE.format(
        topology=topology,
        keys=COSTS.get(key, ""),
        node='core_copy_rate = "10 GB/s"' if key == "node.core_copy_rate" else "",
        section=section.format(leaf=slow[0], top=slow[1]),
        rate="1 MB/s" if key == "network.adapter_rate" else "40 GB/s",
    )
    (folder / "fabric.toml").write_text(text)
    (folder / "study.toml").write_text(STUDY.format(m=8192 if "rate" in key or part in COSTS else 1024))
    fabric = load_fabric(folder / "fabric.toml")
    plan = make_plan(load_study(folder / "study.toml"), fabric)
    (moved,) = [each for each in doubtful(fabric) if each.key == key]
    rows = [{"call": "C", "status": "bound", "median_s": None} for _ in plan.measured]
    found = [Point(cell, cast(CallRow, row), fabric) for cell, row in zip(plan.measured, rows, strict=True)]
    for point in found:
        point.learn(moved)
    return moved, found


@pytest.mark.parametrize("key", sorted(MOVED))
def test_a_number_without_a_source_moves_the_time_that_depends_on_it(tmp_path: Path, key: str) -> None:
    moved, cells = points(tmp_path, key)
    spans = [(each.with_values({key: moved.low}), each.with_values({key: moved.high})) for each in cells]
    assert moved.standing == "assumed"
    assert moved.low < moved.high
    assert any(abs(low - high) > 1e-8 for low, high in spans), spans


@pytest.mark.parametrize(
    ("key", "links"),
    [
        ("network.torus.link_latency", 8),  # half way around either ring
        ("network.tree.link_latency", 2),
        ("network.tree.pod_link_latency", 2),
        ("network.dragonfly.global_latency", 1),
        ("network.dragonfly.local_latency", 2),
    ],
)
def test_the_latency_of_links_counts_once_for_each_on_the_longest_way(tmp_path: Path, key: str, links: int) -> None:
    moved, (_, last) = points(tmp_path, key)
    added = last.with_values({key: moved.high}) - last.with_values({key: moved.low})
    assert last.crossed == pytest.approx({key: links})
    assert added == pytest.approx(links * (moved.high - moved.low), rel=0.01)
