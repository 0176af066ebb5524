# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices from PyTorch's traces: bytes per peer where they are there, and what is lacking where not."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import StudyError
from weft.files.matrix import read_matrix

GROUP = {"Collective name": "all_to_allv", "dtype": "BFloat16", "Group size": 2, "Process Group Ranks": "[0, 1]"}


def kineto(rank: int, *calls: dict[str, Any]) -> dict[str, Any]:
    events = [{"name": "record_param_comms", "ph": "X", "args": GROUP | call} for call in calls]
    kernel = {"name": "ncclDevKernel_SendRecv", "args": GROUP | {"In msg nelems": 999, "In split size": "[]"}}
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [*events, kernel, {"name": "aten::add"}]}


def chakra(rank: int, elements: int, parts: list[int], start: int = 0, stride: int = 1) -> dict[str, Any]:
    attributes = {
        "collective_name": "all_to_allv", "dtype": "Float", "in_msg_nelems": elements, "pg_size": len(parts),
        "in_split_size": json.dumps(parts), "global_rank_start": start, "global_rank_stride": stride,
    }  # fmt: skip
    named = [{"name": name, "type": "", "value": value} for name, value in attributes.items()]
    values = [[3, 0], [1, False], ["0", "default_pg"], rank, "all_to_allv", parts, parts, start, stride, len(parts)]
    return {"schema": "1.1.1-chakra.0.0.4",
            "nodes": [{"name": "record_param_comms", "inputs": {"values": values}, "attrs": named}]}  # fmt: skip


def read(tmp_path: Path, given: object) -> list[list[int]]:
    (tmp_path / "all.json").write_text(json.dumps(given))
    return read_matrix(tmp_path / "all.json")


def test_calls_of_kineto_are_added_in_bytes_and_kernels_are_not_counted_twice(tmp_path: Path) -> None:
    first = kineto(0, {"In msg nelems": 40, "In split size": "[1, 3]"}, {"In msg nelems": 10, "In split size": "[]"})
    second = kineto(1, {"In msg nelems": 6, "In split size": "[3, 0]"}, {"Collective name": "allreduce"})
    assert read(tmp_path, [second, first]) == [[30, 70], [12, 0]]


def test_chakra_names_the_rank_in_its_group_and_the_group_among_all(tmp_path: Path) -> None:
    apart = [chakra(rank, 8, [1, 1], start, 2) for start in (0, 1) for rank in (0, 1)]
    assert read(tmp_path, apart) == [[16, 0, 16, 0], [0, 16, 0, 16], [16, 0, 16, 0], [0, 16, 0, 16]]
    assert read(tmp_path, [chakra(0, 8, [6, 2]), chakra(1, 4, [0, 4])]) == [[24, 8], [0, 16]]


def test_groups_without_a_stride_are_those_that_the_trace_lists(tmp_path: Path) -> None:
    """Kineto: a list cut in the middle, with a stride, or with -1 for none; execution traces: a node of groups."""
    far = {"Process Group Ranks": "[0, ..., 3]", "Global rank start": 0, "Global rank stride": 3}
    first, second = (kineto(rank, far | {"In msg nelems": 2, "In split size": "[2, 0]"}) for rank in (0, 3))
    rest = [
        kineto(rank, {"In msg nelems": 0, "In split size": "[]", "Process Group Ranks": "[1, 2]"}) for rank in (1, 2)
    ]
    expected = [[4, 0, 0, 0], [0] * 4, [0] * 4, [4, 0, 0, 0]]
    assert read(tmp_path, [first, *rest, second]) == expected
    far |= {"Global rank stride": -1, "Process Group Name": "7"}
    listed = [kineto(rank, far | {"In msg nelems": 2, "In split size": "[2, 0]"}) for rank in (0, 3)]
    with pytest.raises(StudyError, match="neither a list of its ranks nor a stride"):
        read(tmp_path, listed)
    for trace in listed:
        trace["distributedInfo"]["pg_config"] = [{"pg_name": "7", "ranks": [0, 3]}, {"pg_name": "0", "ranks": []}]
    assert read(tmp_path, [*listed, *rest]) == expected
    traces = [chakra(member, 1, [1, 0], 0, -1) for member in (0, 1)]
    for trace in traces:
        groups = json.dumps([{"pg_name": "0", "ranks": [0, 3]}])
        trace["nodes"].append({"name": "## process_group:init ##", "inputs": {"values": [groups]}})
        trace["nodes"][0]["attrs"].append({"name": "pg_name", "value": "0"})
    assert read(tmp_path, [*traces, *rest]) == expected


def early(rank: int, parts: list[int]) -> dict[str, Any]:
    """An execution trace of schema 1.0.1, as PyTorch wrote it in 2023: no attributes, and inputs as a list."""
    tensor, equal = [1002, 659, 0, sum(parts), 4, f"cuda:{rank}"], [1062, 611, 0, 4, 8, f"cuda:{rank}"]
    calls: list[list[Any]] = [
        [equal, 148, 943, rank, "all_to_all", [], []],
        [tensor, 150, 943, rank, "all_to_allv", parts, parts],
        [150, 0, rank, "wait", [], []],
        [[tensor], 151, 943, rank, "allreduce", [], []],
    ]
    return {"schema": "1.0.1", "nodes": [{"name": "record_param_comms", "inputs": each} for each in calls]}


def test_execution_traces_before_chakra_are_read_from_their_inputs(tmp_path: Path) -> None:
    assert read(tmp_path, [early(0, [5, 1]), early(1, [0, 2])]) == [[36, 20], [16, 24]]


def test_groups_without_a_name_are_not_one_group(tmp_path: Path) -> None:
    """Each call has as many peers as it has parts; one without parts has the size of its own group, if it is known."""
    traces = [early(0, [5, 1]), early(1, [0, 2])]
    for call in (node["inputs"] for trace in traces for node in trace["nodes"] if len(node["inputs"]) > 5):
        call[2] = None
    with pytest.raises(StudyError, match="Group size"):
        read(tmp_path, traces)
    for trace in traces:
        del trace["nodes"][0]
    assert read(tmp_path, traces) == [[20, 4], [0, 8]]


def test_nccl_tests_matrix_for_alltoallv_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "matrix.txt").write_text("0 1024 512 \n\n256  0 128\n64 32 0\n\n")
    assert read_matrix(tmp_path / "matrix.txt") == [[0, 1024, 512], [256, 0, 128], [64, 32, 0]]


GOOD = {"In msg nelems": 4, "In split size": "[1, 3]"}


BAD: list[tuple[object, str]] = [
    ([kineto(0, GOOD)], "rank 1 of 2: join"),
    ([], "no all-to-all"),
    (kineto(0), "no all-to-all"),
    ({"traceEvents": 3}, "neither"),
    ([[]], "neither a trace"),
    (kineto(0, GOOD | {"In split size": "[1, ..., 3]"}), "cut short.* sizes per peer"),
    (kineto(0, GOOD | {"Process Group Ranks": "[0, ..., 3]"}), "cut short.* ranks of its group"),
    (kineto(0, GOOD | {"In split size": "[1, -3]"}), "no list of whole"),
    (kineto(0, GOOD | {"In split size": "[1, 2, 3]"}), "3 sizes for 2"),
    (kineto(0, GOOD | {"In split size": "[1, "}), "all.json"),
    (kineto(0, GOOD | {"In split size": "[" * 9000}), "all.json"),
    (kineto(0, GOOD | {"In split size": {"a": 1}}), "no list of whole"),
    (kineto(0, GOOD | {"In msg nelems": 2**62}), "In msg nelems"),
    (kineto(0, GOOD | {"Group size": 10**9}), "Group size"),
    (kineto(0, GOOD | {"Group size": "2"}), "Group size"),
    (kineto(0, GOOD | {"dtype": "Quux"}), "quux"),
    (kineto(0, GOOD | {"Process Group Ranks": "[1, 1]"}), "ranks"),
    (kineto(0, GOOD | {"Process Group Ranks": f"[0, {2**40}]"}), "ranks"),
    ({"distributedInfo": 3, "traceEvents": kineto(0, GOOD)["traceEvents"]}, "rank"),
    (chakra(7, 8, [1, 1]), "member"),
    (chakra(0, 8, [1, 1], start=2**50), "start"),
    (chakra(0, 8, [1, 1], stride=2**50), "stride"),
]


@pytest.mark.parametrize(("given", "why"), BAD)
def test_what_a_trace_lacks_is_named_and_hostile_ones_are_refused(given: object, why: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        read(tmp_path, given)
    assert caught.value.remedy
    assert len(caught.value.what) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{", "{}", '{"traceEvents": [1, null, {"name": "record_param_comms"}]}']
)
def test_json_that_is_no_trace_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(text)
    with pytest.raises(StudyError, match=r"all\.json"):
        read_matrix(tmp_path / "all.json")


def test_a_flipped_bit_in_a_trace_is_an_error_or_another_matrix_and_never_a_traceback(tmp_path: Path) -> None:
    good = json.dumps([kineto(0, GOOD), kineto(1, GOOD)]).encode()
    path = tmp_path / "all.json"
    for place in range(0, 8 * len(good), 7):
        changed = bytearray(good)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            assert len(read_matrix(path)) >= 1
        except StudyError as error:
            assert error.what
