# SPDX-License-Identifier: BSD-3-Clause
"""Scripts of replays: each message has both its ends, each count its place, each rank its time between calls."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made.traces import MadeRank
from weft.errors import DataError
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import Flag, State
from weft.store.trace.script import ACTION, HEAD, LAYER, PART, Act, read_sizes
from weft.trace.actions import COLLECTIVES, RECEIVES, SENDS, VECTORS
from weft.trace.rank_actions import Made, make_script


def scripted(folder: Path, ranks: list[MadeRank]) -> tuple[Made, list[list[Any]]]:
    """The script of made ranks, and each rank's actions as rows of ACTION."""
    for rank in ranks:
        rank.write(folder / "raw")
    trace = TraceFolder(folder)
    trace.describe(weft="made")
    convert_trace(trace)
    made = make_script(trace, folder / "replay.script")
    return made, [list(actions) for actions, _ in read_parts(folder / "replay.script")]


def read_parts(path: Path) -> list[tuple[Any, Any]]:
    raw = path.read_bytes()
    head = np.frombuffer(raw, HEAD, 1)[0]
    index = np.frombuffer(raw, PART, head["ranks"], HEAD.itemsize)
    return [
        (
            np.frombuffer(raw, ACTION, part["actions"], part["first_action"]),
            np.frombuffer(raw, "<i8", part["counts"], part["first_count"]),
        )
        for part in index
    ]


def acts(actions: list[Any]) -> list[Act]:
    return [Act(int(action["act"])) for action in actions]


def test_a_message_has_both_ends_and_the_time_before_them(tmp_path: Path) -> None:
    sender = MadeRank(0, 2).call("MPI_Send", 100, 150, peer=1, tag=7, bytes=64).call("MPI_Barrier", 400, 500)
    receiver = MadeRank(1, 2).call("MPI_Recv", 130, 300, peer=0, tag=7, received=64, flags=Flag.ANY_SOURCE)
    receiver.call("MPI_Barrier", 300, 510)
    made, (first, second) = scripted(tmp_path, [sender, receiver])
    assert acts(first) == [Act.SEND, Act.COMPUTE, Act.BARRIER]
    assert acts(second) == [Act.COMPUTE, Act.RECEIVE, Act.BARRIER]
    assert (first[0]["peer"], first[0]["tag"], first[0]["bytes"]) == (1, 7, 64)
    assert (second[1]["peer"], second[1]["tag"], second[1]["received"]) == (0, 7, 64)
    assert (first[1]["value"], second[0]["value"]) == (250, 30)
    assert (made.traced_s, made.computed_s, made.left_out) == (410e-9, 140e-9, {})


def test_pending_receives_do_not_share_a_place_and_requests_share_slots(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 2) for rank in range(2)]
    for rank, other in ((0, 1), (1, 0)):
        made = ranks[rank]
        for turn in range(2):
            one, two = 4 * turn + 1, 4 * turn + 2
            for number, size in ((one, 10), (two, 20)):
                made.call("MPI_Irecv", 0, 0, peer=other, tag=size, received=99, request=number)
                made.call("MPI_Isend", 0, 0, peer=other, tag=size, bytes=size, request=number + 100)
            made.call("MPI_Waitall", 0, 9)
            for number, size in ((one, 10), (two, 20)):
                made.call("completion", 0, 9, peer=other, tag=size, received=size, request=number, flags=Flag.RECEIVE)
                made.call("completion", 0, 9, peer=other, tag=size, bytes=size, request=number + 100)
    _, (first, _) = scripted(tmp_path, ranks)
    posted = [action for action in first if action["act"] == Act.IRECEIVE]
    assert [(action["offset"], action["received"]) for action in posted] == [(0, 10), (10, 20)] * 2
    assert len({int(action["value"]) for action in first if action["act"] == Act.WAIT}) == 4
    assert read_sizes(tmp_path / "replay.script").receive_bytes == 30


def test_what_one_rank_sends_in_a_vector_call_the_other_gets(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 3).communicator(9, 77, [2, 0]) if rank != 1 else MadeRank(rank, 3) for rank in range(3)]
    ranks[0].call("MPI_Alltoallv", 0, 5, comm=9, bytes=12, received=40).counts([8, 4], comm=9)
    ranks[2].call("MPI_Alltoallv", 0, 5, comm=9, bytes=68, received=36).counts([28, 40], comm=9)
    for rank in ranks:
        rank.call("MPI_Gatherv", 6, 7, peer=1, bytes=int(rank.head["rank"]) * 10)
    made, (first, middle, last) = scripted(tmp_path, ranks)
    assert made.left_out == {}
    assert acts(first) == [Act.ALLTOALLV, Act.COMPUTE, Act.GATHER]
    assert acts(middle) == [Act.COMPUTE, Act.GATHER]
    assert {int(first[0]["comm"]), int(last[0]["comm"])} == {1}
    parts = read_parts(tmp_path / "replay.script")
    # members are ranks 2 and 0, in this order: rank 0 gives 8 to rank 2 and 4 to itself
    assert parts[0][1].tolist() == [8, 4, 40, 4, 0, 10, 20]
    assert parts[2][1].tolist() == [28, 40, 28, 8, 0, 10, 20]
    layer = np.frombuffer((tmp_path / "replay.script").read_bytes(), LAYER, 3, HEAD.itemsize + 3 * PART.itemsize)
    assert layer["color"][1] == -1
    assert (layer["key"][2], layer["key"][0]) == (0, 1)


def test_disjoint_communicators_share_a_layer(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 4) for rank in range(4)]
    for members, uid in (((0, 1), 5), ((2, 3), 6), ((1, 2), 8)):
        for rank in members:
            ranks[rank].communicator(uid, uid, list(members)).call("MPI_Barrier", uid, uid + 1, comm=uid)
    _, actions = scripted(tmp_path, ranks)
    layers = [{int(action["comm"]) for action in own if action["act"] == Act.BARRIER} for own in actions]
    assert layers == [{1}, {1, 2}, {1, 2}, {1}]


def test_the_head_tells_messages_of_all_to_alls_apart(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 3).call("MPI_Barrier", 0, 1) for rank in range(3)]
    for rank in ranks:
        rank.call("MPI_Alltoall", 2, 3, bytes=24, received=24)
    scripted(tmp_path, ranks)
    sizes = read_sizes(tmp_path / "replay.script")
    assert (sizes.messages, sizes.direct, sizes.direct_calls, sizes.most_bytes) == (12, 6, ("alltoall",), 8)


def test_what_has_one_end_only_is_left_out_and_counted(tmp_path: Path) -> None:
    sender = MadeRank(0, 2).call("MPI_Isend", 0, 1, peer=1, tag=1, bytes=8, request=1)
    sender.call("MPI_Put", 2, 3, peer=1, bytes=8).call("MPI_Send", 3, 4, peer=-3, tag=1, bytes=8)
    receiver = MadeRank(1, 2).call("MPI_Irecv", 0, 1, peer=0, tag=2, received=8, request=5)
    made, (first, second) = scripted(tmp_path, [sender, receiver])
    assert made.left_out == {"MPI_Isend": 1, "MPI_Irecv": 1, "MPI_Put": 1}
    assert acts(first) == [Act.COMPUTE]
    assert acts(second) == []


def test_a_rank_may_write_to_itself(tmp_path: Path) -> None:
    alone = MadeRank(0, 1).call("MPI_Irecv", 0, 0, peer=0, tag=1, received=8, request=1)
    alone.call("MPI_Send", 0, 1, peer=0, tag=1, bytes=8).call("MPI_Wait", 1, 2)
    alone.call("completion", 1, 2, peer=0, tag=1, received=8, request=1, flags=Flag.RECEIVE)
    made, (own,) = scripted(tmp_path, [alone])
    assert acts(own) == [Act.IRECEIVE, Act.SEND, Act.WAIT]
    assert made.left_out == {}


def test_a_partial_or_summarised_trace_is_refused(tmp_path: Path) -> None:
    whole = MadeRank(0, 2).call("MPI_Barrier", 0, 1)
    with pytest.raises(DataError, match="is partial"):
        scripted(tmp_path / "torn", [whole])
    summary = MadeRank(0, 1, state=int(State.CLOSED | State.LIMITED))
    summary.call("MPI_Send", 0, 9, peer=0, request=12, flags=Flag.SUMMARY)
    with pytest.raises(DataError, match="only as sums by call site"):
        scripted(tmp_path / "summary", [summary])


def test_calls_from_two_threads_have_no_order(tmp_path: Path) -> None:
    both = MadeRank(0, 1).call("MPI_Barrier", 0, 1).call("MPI_Barrier", 0, 1, thread=1)
    with pytest.raises(DataError, match="several threads"):
        scripted(tmp_path, [both])


@pytest.mark.parametrize("keep", [0, 8, 63, 64, 100])
def test_a_torn_script_is_refused_by_its_head(tmp_path: Path, keep: int) -> None:
    _, _ = scripted(tmp_path / "t", [MadeRank(rank, 2).call("MPI_Barrier", 0, 1) for rank in range(2)])
    torn = tmp_path / "torn.script"
    torn.write_bytes((tmp_path / "t/replay.script").read_bytes()[:keep])
    with pytest.raises(DataError, match=r"no script|shorter"):
        read_sizes(torn)


def drawn(numbers: Iterator[int]) -> list[MadeRank]:
    """Three ranks whose calls are drawn from all that a script knows: many messages have one end only."""
    names = sorted({*SENDS, *RECEIVES, *COLLECTIVES, "MPI_Start", "MPI_Put", "MPI_Waitall"})
    names += ["completion", "MPI_Isend", "MPI_Irecv", "MPI_Sendrecv", "MPI_Send", "MPI_Recv"] * 6
    ranks = [MadeRank(rank, 3) for rank in range(3)]
    for rank in (2, 0):
        ranks[rank].communicator(9, 77, [2, 0])
    for rank, made in enumerate(ranks):
        at = 0
        for number in range(400):
            name, comm = names[next(numbers) % len(names)], 9 if rank != 1 and next(numbers) % 4 == 0 else 1
            at += next(numbers) % 5
            request = 1 + next(numbers) % 9 if name in ("MPI_Isend", "MPI_Irecv", "MPI_Start", "completion") else 0
            flags = (0, 0, 0, Flag.RECEIVE, Flag.RECEIVE, Flag.FAILED if number % 7 == 0 else 0)[next(numbers) % 6]
            sizes = {"bytes": 8 * (next(numbers) % 4), "received": 8 * (next(numbers) % 5)}
            peer, tag = next(numbers) % 4, next(numbers) % 2
            made.call(
                name, at, at + 2, comm=comm, peer=-3 if peer == 3 else peer, tag=tag, request=request % 9,
                flags=int(flags), **sizes,
            )  # fmt: skip
            if name in COLLECTIVES and COLLECTIVES[name][1] in VECTORS:
                made.counts([4 * (next(numbers) % 3) for _ in range(2 if comm == 9 else 3)], comm=comm)
    return ranks


def test_the_script_is_the_one_that_was_written_call_by_call(tmp_path: Path) -> None:
    """Its bytes are those of the writer before this one, which took each event by itself."""

    def numbers() -> Iterator[int]:
        state = 1
        while True:
            state = (1103515245 * state + 12345) % 2**31
            yield state >> 16

    made, actions = scripted(tmp_path, drawn(numbers()))
    assert {Act(int(each["act"])) for own in actions for each in own} == set(Act)
    assert made.left_out.keys() >= {"MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Put", "MPI_Start"}
    raw = bytearray((tmp_path / "replay.script").read_bytes())
    for name in ("direct_acts", "direct"):  # of the head, which it left empty
        at, size = HEAD.fields[name][1], HEAD[name].itemsize
        assert any(raw[at : at + size])
        raw[at : at + size] = bytes(size)
    assert (len(raw), zlib.crc32(raw)) == (54440, 3562000466)


def test_messages_on_a_communicator_of_unknown_members_are_left_out(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 2).call("MPI_Barrier", 0, 1) for rank in range(2)]
    ranks[0].call("MPI_Send", 1, 2, peer=1, tag=1, bytes=8, comm=44)
    ranks[1].call("MPI_Recv", 1, 2, peer=0, tag=1, received=8, comm=44)
    made, (first, second) = scripted(tmp_path, ranks)
    assert made.left_out == {"MPI_Send": 1, "MPI_Recv": 1}
    assert acts(first) == acts(second) == [Act.BARRIER]
