# SPDX-License-Identifier: BSD-3-Clause
"""Cases of errors about replays of traces."""

import shlex
from pathlib import Path

import pytest
from remedies import Cases, Typed

from made.traces import MadeRank
from weft.errors import WeftError
from weft.fabric import load_fabric
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import Flag, State
from weft.store.trace.script import read_sizes
from weft.trace.rank_actions import make_script
from weft.trace.replay import fewest_nodes
from weft.whatif.variants import variants

CASES = Cases()
SCRIPT = Path("app/replay.script")
STUDY = """
name = "replay"
kernel = "replay"
[replay]
script = "app/replay.script"
[[series]]
name = "replay"
nodes = [3]
ranks_per_node = 1
"""


def trace_of(*ranks: MadeRank) -> TraceFolder:
    """The trace ``app`` of made ranks in this folder."""
    folder = TraceFolder(Path("app"))
    for old in folder.raw.glob("*"):
        old.unlink()
    for rank in ranks:
        rank.write(folder.raw)
    folder.describe(weft="made")
    convert_trace(folder)
    return folder


def two_ranks() -> TraceFolder:
    return trace_of(*(MadeRank(rank, 2).call("MPI_Barrier", 0, 10**9) for rank in range(2)))


def replayed(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """``weft replay`` up to the run, which would build kernels."""

    def run(*words: object, **options: object) -> int:
        return 0

    monkeypatch.setattr("weft.cli.run.run", run)
    assert "2 ranks" in typed("replay", "app", "--on", "virtual-default")


@CASES.of("kernel/replay/__init__.py", "weft replay TRACE --on FABRIC does")
@CASES.of("store/trace/script.py", "weft replay TRACE --on FABRIC")
def script_of_others(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    two_ranks()
    Path("study.toml").write_text(STUDY)
    SCRIPT.write_bytes(b"of something else")
    with pytest.raises(WeftError, match="is no script") as caught:
        read_sizes(SCRIPT)
    assert "weft replay TRACE --on FABRIC" in caught.value.remedy
    replayed(typed, monkeypatch)
    SCRIPT.write_bytes(SCRIPT.read_bytes()[:70])
    with pytest.raises(WeftError, match="shorter than it says") as caught:
        read_sizes(SCRIPT)
    assert "weft replay TRACE --on FABRIC" in caught.value.remedy
    replayed(typed, monkeypatch)
    assert read_sizes(SCRIPT).ranks == 2
    assert "weft replay TRACE --on FABRIC does" in typed.fails("plan", "study.toml", "--on", "virtual-default")
    replayed(typed, monkeypatch)


@CASES.of("trace/rank_actions.py", "weft trace -o RUN -- mpirun ...")
@CASES.of("trace/rank_actions.py", "weft trace --most 8GiB -o RUN -- mpirun ...")
def trace_that_lacks_calls(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def take(command: object, into: Path, most_bytes: int, *more: object) -> int:
        taken.append(most_bytes)
        return 0

    monkeypatch.setattr("weft.trace.take.take_trace", take)
    with pytest.raises(WeftError, match="is partial") as caught:
        make_script(trace_of(MadeRank(0, 2).call("MPI_Barrier", 0, 1)), SCRIPT)
    typed(*shlex.split(caught.value.remedy.partition("weft ")[2]))
    summary = MadeRank(0, 1, state=int(State.CLOSED | State.LIMITED))
    with pytest.raises(WeftError, match="only as sums") as caught:
        make_script(trace_of(summary.call("MPI_Send", 0, 9, peer=0, request=12, flags=Flag.SUMMARY)), SCRIPT)
    typed(*shlex.split(caught.value.remedy.partition("weft ")[2]))
    assert taken == [2**30, 8 * 2**30]


@CASES.of("analyse/trace/timeline.py", "weft trace show {} --begin 0s --end {}s")
def stretch_beyond_the_end(typed: Typed) -> None:
    two_ranks()
    remedy = typed.fails("trace", "show", "app", "--begin", "100s", "--end", "200s")
    assert typed(*shlex.split(remedy.partition("weft ")[2]))


@CASES.of("whatif/variants.py", "weft fabric presets")
def what_if_on_a_real_machine(typed: Typed) -> None:
    """To a host too small for the ranks ``--nodes 1`` was advised, by which no real machine is helped."""
    trace_of(*(MadeRank(rank, 240).call("MPI_Barrier", 0, 10**9) for rank in range(240)))
    remedy = typed.fails("whatif", "app", "--on", "local")
    assert "weft fabric presets" in remedy
    assert "--on tara" in remedy
    assert "NDR" in typed("fabric", "presets").upper()
    tara = load_fabric("tara")
    assert len(variants(tara, 240, fewest_nodes(tara, 240), 1)[0]) > 1
