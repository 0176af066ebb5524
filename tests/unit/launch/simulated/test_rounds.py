# SPDX-License-Identifier: BSD-3-Clause
"""The engine of rounds by itself; tests/simulated/test_rounds.py has it beside SimGrid's actors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.fabric import load_fabric
from weft.launch.preload import route_library
from weft.launch.simulated.machine import describe_machine, host_slots
from weft.launch.simulated.rounds import Call, Floats, compute
from weft.plan.schedules import KINDS

FABRIC = """
name = "made"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 8
copy_rate = "80 GB/s"
[network]
adapter_rate = "25 GB/s"
latency = "2 us"
eager_limit = "0 B"
"""
NODES, EACH = 4, 2
RANKS = NODES * EACH
MIB = 2.0**20


@pytest.fixture
def order(tmp_path: Path) -> dict[str, Any]:
    return order_of(tmp_path, FABRIC)


def order_of(tmp_path: Path, text: str) -> dict[str, Any]:
    """Two ranks on each of four nodes, all of whose messages wait for their receivers."""
    (tmp_path / "made.toml").write_text(text)
    fabric = load_fabric(tmp_path / "made.toml")
    machine = tmp_path / "machine"
    machine.write_text(describe_machine(fabric, fabric.hosts, EACH))
    slots = host_slots(NODES, RANKS, EACH, "block")
    return {"machine": machine, "slots": slots, "eager_bytes": 0.0, "path_bytes": 8775.0}


def call(kind: str, size: float, blocks: Floats | None = None, **values: int) -> Call:
    made = Call(algorithm=KINDS.index(kind), bytes=size, blocks=None if blocks is None else blocks.ctypes.data)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def seconds(order: dict[str, Any], *calls: Call) -> list[float]:
    """What each call takes."""
    begin, end = compute(route_library(lambda _: None), order, calls)
    return list((end.max(axis=1) - begin.min(axis=1)).tolist())


@pytest.mark.parametrize("falls", [False, True])
def test_a_windows_bytes_are_those_of_the_sends_under_way(order: dict[str, Any], *, falls: bool) -> None:
    """A small block behind one of over 4 MiB waited for ever: its own bytes were freed when that ended."""
    row = np.linspace(1, 8, RANKS)[:: -1 if falls else 1] * MIB
    blocks = np.ascontiguousarray(np.tile(row, (RANKS, 1)))
    (took,) = seconds(order, call("window", 8 * MIB, blocks, own=1, parameter=3))
    # node 0 or 3 receives the largest blocks, from six ranks of other nodes
    least = 6 * row.reshape(NODES, EACH).sum(axis=1).max() / 25e9
    assert least < took < 3 * least


def test_messages_to_oneself_leave_no_receive_behind(order: dict[str, Any]) -> None:
    """A later call did not wait for what it receives: each message to oneself was counted as two that had come."""
    bruck = call("own-bruck", 4096, own=1, parameter=4, second=1)
    alone, *_ = seconds(order, bruck)
    *_, behind = seconds(order, call("scattered", 64, parameter=4, itself=1), bruck)
    assert behind == pytest.approx(alone, rel=1e-9)


def test_copies_of_a_reduction_count_where_the_librarys_do(tmp_path: Path, order: dict[str, Any]) -> None:
    """Bruck's MPI_Alltoallv asks for the largest block: at three ranks it was 8 % of 13 us too fast."""
    bruck = call("own-bruck", 8, own=1, parameter=2, second=1, asked=1)
    (free,) = seconds(order, bruck)
    (charged,) = seconds(order_of(tmp_path, FABRIC + "[simulation]\nlibrary_copies = true\n"), bruck)
    assert free < charged < 1.2 * free
