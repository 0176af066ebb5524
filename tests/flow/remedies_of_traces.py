# SPDX-License-Identifier: BSD-3-Clause
"""Cases of errors about traces of applications."""

import shlex
import sys
from pathlib import Path

import pytest
from remedies import Cases, Typed, run_here

from made.traces import MadeRank
from weft.errors import WeftError
from weft.extras import pip_install
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import SITES, TRACE_RANKS, TraceFolder
from weft.store.trace.reader import trace_files
from weft.trace.export import write_perfetto
from weft.trace.take import bring_in

CASES = Cases()
COMMAND = ("--", "mpirun", "-n", "4", "./application")


def trace_here(name: str) -> None:
    """The trace of two ranks that call MPI_Alltoall."""
    for rank in range(2):
        MadeRank(rank, 2).call("MPI_Alltoall", 10, 20, bytes=16, received=16).write(Path(name, "raw"))
    bring_in(TraceFolder(Path(name)))


@CASES.of("cli/trace.py", "weft trace -o RUN -- mpirun")
@CASES.of("store/trace/folder.py", "weft trace -o RUN -- mpirun")
@CASES.of("trace/export.py", "weft trace -o RUN -- mpirun")
@CASES.of("trace/take.py", "weft trace -o RUN -- mpirun")
def no_trace_yet(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "weft trace -o RUN -- mpirun" in typed.fails("trace")
    assert "weft trace -o RUN -- mpirun" in typed.fails("trace", "show", "nowhere")
    for table in (SITES, TRACE_RANKS):
        table.path(Path("empty")).parent.mkdir(parents=True, exist_ok=True)
        table.write(Path("empty"), [])
    with pytest.raises(WeftError, match="has no rank") as caught:
        write_perfetto(TraceFolder(Path("empty")), Path("trace.json"))
    assert "weft trace -o RUN -- mpirun" in caught.value.remedy
    assert "weft trace -o RUN -- mpirun" in typed.fails("trace", "-o", "empty", *COMMAND)
    taken: list[Path] = []
    monkeypatch.setattr("weft.trace.take.take_trace", lambda _, into, *more: taken.append(into) or 0)
    typed("trace", "-o", "RUN", *COMMAND)
    assert taken == [Path("RUN")]


@CASES.of("store/trace/folder.py", "weft trace -o RUN -- mpirun")
def damaged_trace_without_its_origin(typed: Typed) -> None:
    trace_here("RUN")
    kept = TraceFolder(Path("RUN"))
    next(kept.events.glob("*.parquet")).write_bytes(b"damaged")
    for path in trace_files(kept.raw):
        path.unlink()
    assert "weft trace -o RUN -- mpirun" in typed.fails("trace", "show", "RUN")


@CASES.of("store/trace/reader.py", "bring the original back, or take the trace again")
def changed_before_it_was_converted(typed: Typed) -> None:
    path = MadeRank(0, 1).call("MPI_Alltoall", 10, 20, bytes=16, received=16).write(Path("RUN", "raw"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "bring the original back" in typed.fails("trace", "show", "RUN")
    path.write_bytes(whole)
    typed("trace", "show", "RUN")


@CASES.of("store/trace/convert.py", "weft doctor")
def trace_of_nothing(typed: Typed) -> None:
    with pytest.raises(WeftError, match="no trace of any rank") as caught:
        convert_trace(TraceFolder(Path("nothing")))
    assert "weft doctor" in caught.value.remedy
    assert "MPI" in typed("doctor")


@CASES.of("store/trace/folder.py", "for a run of a study: weft show {}")
def run_as_trace(typed: Typed) -> None:
    run = run_here()
    with pytest.raises(WeftError, match="is not a trace") as caught:
        TraceFolder.open(run)
    assert typed(*shlex.split(caught.value.remedy.partition("weft ")[2]))


@CASES.of("store/folder.py", "weft trace show {}; a page: the same with -o PAGE.html")
def trace_as_run(typed: Typed) -> None:
    trace_here("RUN")
    for verb in ("show", "report"):
        weft, *show = shlex.split(typed.fails(verb, "RUN").partition(";")[0])
        assert weft == "weft" and typed(*show, "-o", f"{verb}.html")
        assert Path(f"{verb}.html").is_file()


@CASES.of("trace/bring.py", "weft trace import SOURCE -o RUN")
@CASES.of("trace/export.py", "weft trace export RUN DIR --to otf2")
def traces_of_others(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    trace_here("RUN")
    Path("full").mkdir()
    Path("full", "mine").touch()
    assert "weft trace export RUN DIR --to otf2" in typed.fails("trace", "export", "RUN", "full", "--to", "otf2")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "otf2", None)
        assert pip_install("otf2") in typed.fails("trace", "export", "RUN", "DIR", "--to", "otf2")
    typed("trace", "export", "RUN", "DIR", "--to", "otf2")
    assert Path("DIR", "traces.otf2").is_file()
    assert "weft trace import SOURCE -o RUN" in typed.fails("trace", "import", "DIR", "-o", "full")
    typed("trace", "import", "DIR", "-o", "again")
    assert "give an archive's traces.otf2" in typed.fails("trace", "import", "RUN", "-o", "none")


@CASES.of("trace/events.py", "weft tune --sizes 1KiB 64KiB")
def trace_without_all_to_alls(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.trace import events

    trace_here("RUN")
    monkeypatch.setattr(events, "each_event", lambda folder: iter(()))
    with pytest.raises(WeftError, match="has no MPI_Alltoall") as caught:
        events.block_sizes_of_trace(Path("RUN"))
    assert "weft tune --sizes" in caught.value.remedy
    assert "--sizes" in typed("tune", "--help")
