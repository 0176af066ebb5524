# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a trace with one file changed, as `weft trace show`, its exports and `weft replay` read it."""

import atexit
import io
import shutil
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # Atheris starts this by path

from read_again import same_trace
from rich.console import Console

from made.traces import MadeRank
from weft.analyse.tables.traces import has_trace_tables
from weft.analyse.trace.make import make_trace_tables
from weft.analyse.trace.timeline import timeline
from weft.errors import WeftError
from weft.report.tabular import terminal
from weft.report.traces import as_json, load_trace, trace_tables, write_trace_page
from weft.store.trace.folder import TraceFolder, stamp_of_raw, write_stamp
from weft.store.trace.layout import Flag
from weft.trace.events import reading_trace, traffic_of_trace
from weft.trace.export import write_perfetto
from weft.trace.rank_actions import make_script
from weft.trace.take import bring_in, describe_trace


def made_rank(rank: int) -> MadeRank:
    """A rank of two with a call of each family that is read in a way of its own."""
    other, mine = 1 - rank, 3 + rank
    made = MadeRank(rank, 2, node=rank, host=b"n%d" % rank).communicator(mine, 2**63 + 9, [1, 0])
    made.site(1, "solve+0x12 (a program with a rather long name, of two records)")
    made.call("MPI_Irecv", 10, 11, peer=other, tag=3, received=64, request=1, site=1, flags=Flag.RECEIVE)
    made.call("MPI_Isend", 12, 13, peer=other, tag=3, bytes=64, request=2, site=1)
    made.call("MPI_Waitall", 20, 30 + rank, site=1)
    made.call("completion", 20, 30 + rank, peer=other, tag=3, received=64, request=1, flags=Flag.RECEIVE)
    made.call("completion", 20, 30 + rank, peer=other, tag=3, bytes=64, request=2)
    for turn in range(4):
        began = 40 + 50 * turn
        made.call("MPI_Alltoallv", began, began + 20, comm=mine, bytes=48, received=48).counts([16, 32], comm=mine)
        made.call("MPI_Allreduce", began + 25 + rank, began + 30, bytes=8, received=8)
    made.call("MPI_Bcast", 300, 310, peer=0, bytes=16 * other, received=16 * rank)
    return made.call("MPI_Test", 320, 330, flags=Flag.UNFINISHED, request=5)


def rank_bytes(made: MadeRank) -> bytes:
    """The file of a rank."""
    return made.head.tobytes() + b"".join(made.records)


def as_records(path: Path) -> None:
    """The records of rank 0; those of rank 1 are good. Its events are those that can be, and its script is made."""
    folder = fresh(path)
    made_rank(1).write(folder.raw)
    raw = folder.raw / "rank-0000000.trace"
    raw.write_bytes(path.read_bytes())
    with reading_trace(folder.path):
        bring_in(folder)
    same_trace(raw, folder)
    with reading_trace(folder.path):
        make_script(folder, folder.path / "script")


@lru_cache(maxsize=1)
def place() -> TraceFolder:
    """A trace with all that is made of it; stays until this process ends."""
    import tempfile

    folder = TraceFolder(Path(tempfile.mkdtemp(prefix="weft-fuzz-trace")))
    atexit.register(shutil.rmtree, folder.path, ignore_errors=True)
    for rank in range(2):
        made_rank(rank).write(folder.raw)
    bring_in(folder)
    make_trace_tables(folder)
    return folder


@lru_cache(maxsize=1)
def all_files() -> tuple[str, ...]:
    """Name of every file."""
    return tuple(str(path.relative_to(place().path)) for path in sorted(place().path.rglob("*")) if path.is_file())


def fresh(path: Path) -> TraceFolder:
    """An empty folder beside the input."""
    shutil.rmtree(path.parent / "trace", ignore_errors=True)
    return TraceFolder(path.parent / "trace")


def as_trace_with_file(path: Path) -> None:
    """A trace in which one file has other bytes: ``<number of the file>`` on the first line, then what it holds."""
    number, _, content = path.read_bytes().partition(b"\n")
    if not number.isdigit() or len(number) > 6:
        return
    folder = fresh(path)
    shutil.copytree(place().path, folder.path)
    (folder.path / all_files()[int(number) % len(all_files())]).write_bytes(content)
    with suppress(WeftError, OSError):  # as a stranger does who edits it: else its checksum alone is looked at
        write_stamp(folder, stamp_of_raw(folder))
    refused: WeftError | None = None
    for part in (shown, lined, exported, replayed, asked_for_traffic):
        try:
            with reading_trace(folder.path):
                part(folder)
        except WeftError as error:
            refused = error
    if refused:
        raise refused


def shown(folder: TraceFolder) -> None:
    """As ``weft trace show`` reads it."""
    TraceFolder.open(folder.path)
    bring_in(folder)
    if not has_trace_tables(folder):
        make_trace_tables(folder)
    view, notes = load_trace(folder), describe_trace(folder)
    as_json(view)
    out = Console(file=io.StringIO(), width=140)
    for each in (*notes, *map(terminal, trace_tables(view))):
        out.print(each)
    write_trace_page(view, folder.path / "trace.html", notes)


def lined(folder: TraceFolder) -> None:
    """As ``weft trace show --begin`` reads it."""
    timeline(folder, None, None).letters()


def exported(folder: TraceFolder) -> None:
    """As ``weft trace export`` reads it."""
    write_perfetto(folder, folder.path / "trace.json")


def replayed(folder: TraceFolder) -> None:
    """As ``weft replay`` reads it."""
    make_script(folder, folder.path / "script")


def asked_for_traffic(folder: TraceFolder) -> None:
    """As ``--traffic`` reads it."""
    traffic_of_trace(folder.path)


def file_seeds() -> tuple[bytes, ...]:
    """Every file as it is."""
    return tuple(b"%d\n" % number + (place().path / file).read_bytes() for number, file in enumerate(all_files()))
