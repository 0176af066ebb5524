# SPDX-License-Identifier: BSD-3-Clause
"""Answers of made traces whose every number is known: times, matrix, who waited for whom, phases, bounds."""

from pathlib import Path

import numpy as np
import pytest

from made.traces import MadeRank
from weft.analyse.engine import Backend, bound_memory
from weft.analyse.tables.traces import (
    CALL_SIZES,
    CALL_TIMES,
    COMM_TIMES,
    LATE,
    MATRIX,
    NODE_PAIRS,
    PHASES,
    SHARES,
    VERDICT,
    has_trace_tables,
)
from weft.analyse.trace import make, timeline
from weft.analyse.trace.make import make_trace_tables
from weft.analyse.trace.timeline import Codes, repeating
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import Flag

MS = 1_000_000


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receives are matched a rank at a time, as those of large traces are; elsewhere all at once."""
    monkeypatch.setattr(make, "MOST_EVENTS", 1)


def analysed(folder: Path, *ranks: MadeRank) -> Path:
    """Tables of a trace."""
    for made in ranks:
        made.write(folder / "raw")
    convert_trace(TraceFolder(folder))
    make_trace_tables(TraceFolder(folder))
    assert has_trace_tables(TraceFolder(folder))
    return folder


def three(**header: object) -> list[MadeRank]:
    """Three ranks that begin at once."""
    return [MadeRank(rank, 3, **header).call("MPI_Comm_dup", 0, 0) for rank in range(3)]


def test_the_last_to_come_to_an_all_to_all_caused_the_waiting_of_the_others(tmp_path: Path) -> None:
    ranks = three()
    for made, begin in zip(ranks, (10, 40, 20), strict=True):
        made.call("MPI_Alltoall", begin * MS, 60 * MS, bytes=300, received=300)
    run = analysed(tmp_path, *ranks)
    late = LATE.read(run)
    assert [round(row["waited_s"], 9) for row in late] == [0.03, 0, 0.02]
    assert [round(row["caused_s"], 9) for row in late] == [0, 0.05, 0]
    assert [row["last"] for row in late] == [0, 2, 0]
    (call,) = [row for row in CALL_TIMES.read(run) if row["call"] == "MPI_Alltoall"]
    assert call["waiting_s"] == pytest.approx(0.05)
    assert call["seconds"] == pytest.approx(0.11)
    assert call["share"] == pytest.approx(0.11 / 0.18)


def test_a_broadcast_waits_for_its_root_only_and_a_reduction_only_at_its_root(tmp_path: Path) -> None:
    ranks = three()
    for made, begin in zip(ranks, (10, 15, 50), strict=True):
        made.call("MPI_Bcast", begin * MS, max(begin + 1, 17) * MS, peer=1)  # the last one is late for nobody
        made.call("MPI_Reduce", (begin + 60) * MS, 115 * MS, peer=1)
    run = analysed(tmp_path, *ranks)
    late = LATE.read(run)
    assert [round(row["waited_s"], 9) for row in late] == [0.005, 0.035, 0]
    assert [round(row["caused_s"], 9) for row in late] == [0, 0.005, 0.035]


def test_waiting_never_exceeds_the_call(tmp_path: Path) -> None:
    """A broadcast of a small message ends at the root before others begin, and clocks err."""
    ranks = three()
    for made, (begin, end) in zip(ranks, ((10, 20), (30, 31), (10, 12)), strict=True):
        made.call("MPI_Barrier", begin * MS, end * MS)
    assert [round(row["waited_s"], 9) for row in LATE.read(analysed(tmp_path, *ranks))] == [0.01, 0, 0.002]


def test_a_collective_of_which_a_record_is_missing_is_no_late_arrival(tmp_path: Path) -> None:
    ranks = three()
    for made in ranks[:2]:
        made.call("MPI_Barrier", 10 * MS, 20 * MS + int(made.head["rank"]))
    assert all(row["waited_s"] == 0 for row in LATE.read(analysed(tmp_path, *ranks)))


def test_calls_on_other_communicators_and_of_other_kinds_are_not_taken_for_one_another(tmp_path: Path) -> None:
    ranks = three()
    for rank, made in enumerate(ranks):
        if rank != 1:
            made.communicator(3, 2**63 + 1, [0, 2])
            made.call("MPI_Barrier", (10 + 10 * rank) * MS, 31 * MS, comm=3)
        made.call("MPI_Allreduce", 40 * MS, 41 * MS)
        made.call("MPI_Barrier", (50 + rank) * MS, 60 * MS)
    late = LATE.read(analysed(tmp_path, *ranks))
    assert [round(row["waited_s"], 9) for row in late] == [0.022, 0.001, 0]


def test_a_receive_waits_for_its_own_message_in_the_order_of_posting(tmp_path: Path) -> None:
    """Two receives of one pair and tag: completed in the other order, with a wildcard, and one by MPI_Sendrecv."""
    sender, receiver = MadeRank(0, 2), MadeRank(1, 2)
    sender.call("MPI_Send", 30 * MS, 31 * MS, peer=1, tag=4, bytes=8)
    sender.call("MPI_Isend", 50 * MS, 51 * MS, peer=1, tag=4, bytes=16, request=9)
    sender.call("MPI_Send", 70 * MS, 71 * MS, peer=1, tag=5, bytes=32)
    wild = {"tag": 4, "flags": Flag.RECEIVE | Flag.ANY_SOURCE}
    receiver.call("MPI_Irecv", 1 * MS, 2 * MS, peer=-1, request=1, **wild)
    receiver.call("MPI_Irecv", 3 * MS, 4 * MS, peer=-1, request=2, **wild)
    receiver.call("MPI_Waitall", 10 * MS, 60 * MS)
    receiver.call("completion", 10 * MS, 60 * MS, peer=0, request=2, received=16, **wild)
    receiver.call("completion", 10 * MS, 60 * MS, peer=0, request=1, received=8, **wild)
    receiver.call("MPI_Recv", 61 * MS, 75 * MS, peer=0, tag=5, received=32)
    run = analysed(tmp_path, sender, receiver)
    times = {row["call"]: row for row in CALL_TIMES.read(run)}
    assert times["MPI_Waitall"]["waiting_s"] == pytest.approx(0.04)
    assert times["MPI_Recv"]["waiting_s"] == pytest.approx(0.009)
    assert LATE.read(run)[0]["caused_s"] == pytest.approx(0.049)
    (pair,) = MATRIX.read(run)
    assert pair == {"rank": 0, "peer": 1, "kind": "point-to-point", "messages": 3, "bytes": 56}


def test_receives_are_numbered_by_their_posting_not_by_their_completion(tmp_path: Path) -> None:
    """The receive that was posted last completes first: its message is the one that was sent last."""
    sender, receiver = MadeRank(0, 2), MadeRank(1, 2)
    for begin, size in ((30, 8), (50, 16)):
        sender.call("MPI_Send", begin * MS, (begin + 1) * MS, peer=1, tag=4, bytes=size)
    for request in (1, 2):
        receiver.call("MPI_Irecv", request * MS, request * MS, peer=0, tag=4, request=request, flags=Flag.RECEIVE)
    for request, begin, end in ((2, 10, 52), (1, 52, 53)):
        receiver.call("MPI_Wait", begin * MS, end * MS)
        receiver.call("completion", begin * MS, end * MS, peer=0, tag=4, request=request, flags=Flag.RECEIVE)
    (waited,) = [row["waiting_s"] for row in CALL_TIMES.read(analysed(tmp_path, sender, receiver))
                 if row["call"] == "MPI_Wait"]  # fmt: skip
    assert waited == pytest.approx(0.04)  # by completion it would be 20 ms


@pytest.mark.parametrize("call", ["MPI_Recv", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce"])
def test_nobody_waits_beyond_the_end_of_the_call(call: str, tmp_path: Path) -> None:
    """Clocks err: the message is seen to leave, and the other to come, after the call ended."""
    one, other = MadeRank(0, 2), MadeRank(1, 2)
    root = 0 if call == "MPI_Reduce" else 1
    one.call(call, 10 * MS, 14 * MS, peer=root)
    other.call("MPI_Send" if call == "MPI_Recv" else call, 20 * MS, 21 * MS, peer=0 if call == "MPI_Recv" else root)
    run = analysed(tmp_path, one, other)
    assert LATE.read(run)[0]["waited_s"] == pytest.approx(0.004)


def test_the_matrix_holds_all_to_alls_by_member_and_nothing_else_of_collectives(tmp_path: Path) -> None:
    ranks = three()
    for rank, made in enumerate(ranks):
        made.communicator(5, 2**63 + 9, [2, 1, 0])
        made.call("MPI_Alltoallv", 1 * MS, 2 * MS, comm=5, bytes=12).counts([0, 4 + rank, 8], comm=5)
        made.call("MPI_Alltoall", 3 * MS, 4 * MS, bytes=30)
        made.call("MPI_Ialltoall", 3 * MS, 4 * MS, bytes=3, request=1)
        made.call("MPI_Allreduce", 5 * MS, 6 * MS, bytes=1000)
        made.call("MPI_Reduce_scatter", 7 * MS, 8 * MS, bytes=1000).counts([500, 500, 0])
        made.call("MPI_Get", 9 * MS, 9 * MS, peer=(rank + 1) % 3, received=7)
    found = {(row["rank"], row["peer"], row["kind"]): (row["messages"], row["bytes"]) for row in MATRIX.read(
        analysed(tmp_path, *ranks)
    )}  # fmt: skip
    expected = {(i, j, "all-to-all"): (2, 11) for i in range(3) for j in range(3)}
    for i in range(3):
        expected |= {(i, 1, "all-to-all"): (3, 11 + 4 + i), (i, 0, "all-to-all"): (3, 19)}
        expected[(i + 1) % 3, i, "one-sided"] = (1, 7)
    assert found == expected


def test_sizes_are_powers_of_two_and_communicators_have_their_share_of_all_to_alls(tmp_path: Path) -> None:
    made = MadeRank(0, 1)
    for size in (1, 2, 3, 4, 1024, 1025):
        made.call("MPI_Send", 0, 10, peer=0, bytes=size)
    made.call("MPI_Alltoall", 100, 400, bytes=8, received=8)
    made.call("MPI_Barrier", 400, 500)
    run = analysed(tmp_path, made)
    sizes = {(row["call"], row["size"]): row["calls"] for row in CALL_SIZES.read(run)}
    assert sizes == {
        ("MPI_Send", 1): 1, ("MPI_Send", 2): 1, ("MPI_Send", 4): 2, ("MPI_Send", 1024): 1, ("MPI_Send", 2048): 1,
        ("MPI_Alltoall", 8): 1,
    }  # fmt: skip
    (world,) = COMM_TIMES.read(run)
    assert (world["name"], world["calls"]) == ("MPI_COMM_WORLD", 8)
    assert world["all_to_all_s"] == pytest.approx(300e-9)
    assert world["seconds"] == pytest.approx(460e-9)


def test_phases_are_the_stretches_that_repeat() -> None:
    assert repeating(np.array([9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 8])) == [(1, 3, 3)]
    assert repeating(np.array([5, 5, 5, 5, 1, 2, 3])) == [(0, 1, 4)]
    assert repeating(np.array([1, 2, 1, 2, 3, 4])) == []
    assert repeating(np.array([], np.int64)) == []
    inner = [1, 2, 2, 2, 2, 2, 3]
    assert repeating(np.array(inner * 4)) == [(0, 7, 4)]


def directly(codes: Codes, longest: int) -> list[tuple[int, int, int]]:
    """What `repeating` finds, from the definition: every period, every call."""
    found: list[tuple[int, int, int]] = []
    for period in range(1, min(longest, len(codes) // 3) + 1):
        begin = 0
        for place in range(len(codes) - period + 1):
            if place == len(codes) - period or codes[place] != codes[place + period]:
                if place - begin >= 2 * period:
                    found.append((begin, period, (place - begin) // period + 1))
                begin = place + 1
    taken: set[int] = set()
    kept: list[tuple[int, int, int]] = []
    for first, period, times in sorted(found, key=lambda each: (-each[1] * each[2], each[1])):
        covered = set(range(first, first + period * times))
        if not covered & taken:
            taken |= covered
            kept.append((first, period, times))
    return kept


@pytest.mark.parametrize("odd", [timeline.ODD, 1])  # by powers of 1 every two blocks of the same calls are alike
def test_phases_are_the_same_as_by_comparing_every_call(odd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "ODD", odd)
    dice = np.random.default_rng(5)
    for _ in range(40):
        loops = [np.tile(dice.integers(0, 3, dice.integers(1, 9)), dice.integers(1, 7)) for _ in range(4)]
        codes: Codes = np.concatenate(loops)
        for longest in (3, 100):
            assert repeating(codes, longest) == directly(codes, longest)


def test_phases_are_found_without_comparing_every_call_at_every_period(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    equal = np.array_equal

    def counted(one: Codes, other: Codes) -> bool:
        looked_at.append(len(one))
        return equal(one, other)

    monkeypatch.setattr(np, "array_equal", counted)
    codes = np.tile(np.arange(50), 400)
    assert repeating(codes) == [(0, 50, 400)]
    assert sum(looked_at) < 100 * len(codes), "multiples of 50 alone, of 4,096 periods"


def test_tables_are_made_in_bounded_memory_with_the_rest_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Backend] = []
    spilled: list[Path] = []

    def bounded(backend: Backend, most: str, spill: Path) -> None:
        bound_memory(backend, most, spill)
        assert spill.is_dir()
        opened.append(backend)
        spilled.append(spill)

    monkeypatch.setattr(make, "bound_memory", bounded)
    analysed(tmp_path / "it's", MadeRank(0, 1).call("MPI_Barrier", 0, 5))
    (backend,), (spill,) = opened, spilled
    asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    assert backend.raw_sql(asked).fetchone() == ("768.0 MiB", str(spill))
    assert spill.is_relative_to(tmp_path / "it's")
    assert not spill.exists()


def test_a_phase_tells_its_time_and_its_longest_call_site(tmp_path: Path) -> None:
    made = MadeRank(0, 1).site(1, "solve+0x1 (app)")
    made.call("MPI_Bcast", 0, 5 * MS, peer=0)
    for step in range(10):
        begin = (10 + 20 * step) * MS
        made.call("MPI_Barrier", begin, begin + 1 * MS)
        made.call("MPI_Allreduce", begin + 2 * MS, begin + 9 * MS, site=1)
    (phase,) = PHASES.read(analysed(tmp_path, made))
    assert (phase["first_event"], phase["calls"], phase["times"]) == (1, 2, 10)
    assert phase["begin_s"] == pytest.approx(0.01)
    assert phase["seconds"] == pytest.approx(0.189)
    assert phase["mpi_s"] == pytest.approx(0.08)
    assert phase["text"].startswith("MPI_Allreduce at solve+0x1 (app)")


def test_no_remedy_is_promised_more_than_its_bound(tmp_path: Path) -> None:
    """Rank 1 computes for 80 of 100 ms: an ideal network saves 20. The all-to-all moves for 10, on one node."""
    ranks = [MadeRank(rank, 2) for rank in range(2)]
    for rank, made in enumerate(ranks):
        made.call("MPI_Comm_dup", 0, 0)
        made.call("MPI_Alltoall", (80 if rank else 20) * MS, 90 * MS, bytes=10)
        made.call("MPI_Allreduce", 90 * MS, 100 * MS, bytes=10)
    rows = {row["remedy"]: row["saves_s"] for row in VERDICT.read(analysed(tmp_path / "one", *ranks))}
    assert rows == {
        "memory": pytest.approx(0.02),  # no network was used
        "balance": pytest.approx(0.03), "all-to-all": pytest.approx(0.01),
    }  # fmt: skip
    ranks[1].head["node"] = 1
    rows = {row["remedy"]: row["saves_s"] for row in VERDICT.read(analysed(tmp_path / "two", *ranks))}
    assert rows["placement"] == rows["network"] == pytest.approx(0.02)


def test_ranks_that_compute_in_turns_gain_from_an_even_share(tmp_path: Path) -> None:
    """Each computes for 20 of 40 ms, so their totals are even; shared at each step, it takes 20."""
    ranks = [MadeRank(rank, 2).call("MPI_Comm_dup", 0, 0) for rank in range(2)]
    for step in range(4):
        for rank, made in enumerate(ranks):
            begin = 10 * step + (10 if step % 2 == rank else 0)
            made.call("MPI_Barrier", begin * MS, 10 * (step + 1) * MS)
    rows = {row["remedy"]: row["saves_s"] for row in VERDICT.read(analysed(tmp_path, *ranks))}
    assert rows["balance"] == pytest.approx(0.02)


def test_an_even_share_of_no_computing_saves_nothing(tmp_path: Path) -> None:
    """Sends of which nobody knows how long they waited: 98 of 100 ms are communication."""
    ranks = [MadeRank(rank, 2).call("MPI_Comm_dup", 0, 0) for rank in range(2)]
    for made in ranks:
        made.call("MPI_Send", 1 * MS, 99 * MS, peer=1, bytes=10).call("MPI_Comm_free", 100 * MS, 100 * MS)
    rows = {row["remedy"]: row["saves_s"] for row in VERDICT.read(analysed(tmp_path, *ranks))}
    assert rows["balance"] == pytest.approx(0.004)


def test_a_better_placement_may_spare_every_message_of_a_chain_its_way(tmp_path: Path) -> None:
    """Three nodes, two messages of 10 ms one after the other; no rank receives for longer than 10."""
    ranks = [MadeRank(rank, 3, node=rank).call("MPI_Comm_dup", 0, 0) for rank in range(3)]
    ranks[0].call("MPI_Send", 0, 10 * MS, peer=1, bytes=10)
    ranks[1].call("MPI_Recv", 0, 10 * MS, peer=0, received=10).call("MPI_Send", 10 * MS, 20 * MS, peer=2, bytes=10)
    ranks[2].call("MPI_Recv", 0, 20 * MS, peer=1, received=10)
    rows = {row["remedy"]: row["saves_s"] for row in VERDICT.read(analysed(tmp_path, *ranks))}
    assert rows["placement"] == pytest.approx(0.02)


def test_a_program_without_communication_has_no_remedy(tmp_path: Path) -> None:
    made = [MadeRank(rank, 2).call("MPI_Comm_dup", 0, 0).call("MPI_Comm_free", 100 * MS, 100 * MS) for rank in (0, 1)]
    assert VERDICT.read(analysed(tmp_path, *made)) == []


def test_pieces_have_so_many_events_or_one_rank() -> None:
    rows = [{"rank": rank, "events": events} for rank, events in ((3, 4), (0, 5), (5, 100), (1, 5), (6, 1), (9, 0))]
    assert make.pieces(rows, 10) == [(0, 1), (3, 3), (5, 5), (6, 9)]
    assert make.pieces(rows, 1000) == [(0, 9)]
    assert make.pieces([], 10) == []


def test_time_is_shared_out_by_what_is_known_of_it(tmp_path: Path) -> None:
    """Files are a family of their own, and what nobody can know is unknown, not 0."""
    one, other = MadeRank(0, 2), MadeRank(1, 2)
    for made, begin in ((one, 10), (other, 20)):
        made.call("MPI_File_open", 0, 10 * MS)
        made.call("MPI_Barrier", begin * MS, 30 * MS)
        made.call("MPI_File_write_at_all", 30 * MS, 70 * MS, bytes=1 << 20)
        made.call("MPI_Put", 70 * MS, 75 * MS, peer=0, bytes=8)
        made.call("MPI_Test", 100 * MS, 100 * MS)
    run = analysed(tmp_path, one, other)
    shares = {row["what"]: round(row["share"], 9) for row in SHARES.read(run)}
    assert shares == {"file": 0.5, "computing": 0.3, "moving": 0.1, "waiting": 0.05, "unknown": 0.05}
    assert SHARES.read(run)[0]["what"] == "file"
    (write,) = [row for row in CALL_TIMES.read(run) if row["call"] == "MPI_File_write_at_all"]
    assert (write["calls"], write["bytes"], write["known_s"], write["waiting_s"]) == (2, 2 << 20, 0.0, None)
    assert VERDICT.read(run)[0]["saves_s"] == pytest.approx(
        0.015
    )  # the busier rank computes for 35 of 100 ms, its files take 50


def test_in_a_sparse_all_to_all_a_rank_waits_for_those_alone_who_have_bytes_for_it(tmp_path: Path) -> None:
    """Rank 2 comes last and has bytes for nobody; ranks 0 and 1 exchange theirs."""
    ranks = three()
    for made, begin, sent in zip(ranks, (10, 20, 90), ([0, 8, 0], [8, 0, 0], [0, 0, 5]), strict=True):
        made.call("MPI_Alltoallv", begin * MS, 95 * MS, bytes=sum(sent), received=8).counts(sent)
    late = LATE.read(analysed(tmp_path, *ranks))
    assert [round(row["waited_s"], 9) for row in late] == [0.01, 0, 0]
    assert [round(row["caused_s"], 9) for row in late] == [0, 0.01, 0]


def test_neighbourhood_calls_have_bytes_partners_and_waiting(tmp_path: Path) -> None:
    """A chain of three: the ends wait for the middle, which waits for the later end."""
    ranks = three()
    partners = ({1: 8}, {0: 8, 2: 16}, {1: 8})
    for made, begin, to in zip(ranks, (10, 40, 30), partners, strict=True):
        made.call("MPI_Neighbor_alltoallv", begin * MS, 50 * MS, bytes=sum(to.values()), received=8).targets(to)
    run = analysed(tmp_path, *ranks)
    late = LATE.read(run)
    assert [round(row["waited_s"], 9) for row in late] == [0.03, 0, 0.01]
    assert [round(row["caused_s"], 9) for row in late] == [0, 0.04, 0]
    assert {(row["rank"], row["peer"], row["bytes"]) for row in MATRIX.read(run)} == {
        (0, 1, 8), (1, 0, 8), (1, 2, 16), (2, 1, 8)
    }  # fmt: skip


def test_a_late_rank_that_computed_longer_is_told_from_one_that_was_held_up(tmp_path: Path) -> None:
    """Both are 30 ms late for a barrier: one computed longer, the other received a message slowly."""
    found: list[float] = []
    for slow_inside in (False, True):
        ranks = three()
        for made in ranks:
            made.call("MPI_Barrier", 5 * MS, 10 * MS)
        if slow_inside:
            ranks[1].call("MPI_Probe", 15 * MS, 45 * MS, peer=0)
        for made, begin in zip(ranks, (20, 50, 20), strict=True):
            made.call("MPI_Barrier", begin * MS, 52 * MS)
        late = LATE.read(analysed(tmp_path / str(slow_inside), *ranks))[1]
        assert late["caused_s"] == pytest.approx(0.06)
        found.append(late["imbalance_s"])
    assert found == [pytest.approx(0.06), pytest.approx(0)]


@pytest.mark.parametrize("slow", [True, False])
def test_a_slow_link_is_found_by_bytes_over_time_of_node_pairs(slow: bool, tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 4, node=rank, host=b"n%d" % rank) for rank in range(4)]
    at = 0
    for _ in range(10):
        for source in range(4):
            for target in range(4):
                if source != target:
                    takes = 40 if slow and {source, target} == {1, 3} else 10
                    ranks[target].call("MPI_Recv", at * MS, (at + 1 + takes) * MS, peer=source, received=1 << 20)
                    ranks[source].call("MPI_Send", (at + 1) * MS, (at + 2) * MS, peer=target, bytes=1 << 20)
                    at += 50
    rows = NODE_PAIRS.read(analysed(tmp_path, *ranks))
    assert len(rows) == 6
    assert [(row["node"], row["other"]) for row in rows if row["slow"]] == ([(1, 3)] if slow else [])
    assert rows[0]["ratio"] == pytest.approx(4 if slow else 1)
    assert (rows[0]["messages"], rows[0]["bytes"]) == (20, 20 << 20)
