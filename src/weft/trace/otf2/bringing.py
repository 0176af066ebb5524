# SPDX-License-Identifier: BSD-3-Clause
"""Bringing an archive of OTF2 into the folder of a trace: its definitions, then all its events in one pass."""

import shutil
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from weft import __version__
from weft.errors import DataError
from weft.files.atomic import file_errors, make_folder, new_folder
from weft.files.beneath import plain_file
from weft.format import plural
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import SELF, WORLD, RankFile, State
from weft.trace.otf2.archive import as_data_errors, otf2
from weft.trace.otf2.calls import Known, RankCalls

QUIET = (
    "Abort", "Address", "Aint_", "Alloc_mem", "Attr_", "Buffer_", "Cart_coords", "Cart_get", "Cart_rank", "Cart_shift",
    "Cartdim", "Comm_compare", "Comm_get", "Comm_group", "Comm_rank", "Comm_remote", "Comm_set", "Comm_size",
    "Comm_test", "Dims_create", "Errhandler", "Error_", "Finalize", "Free_mem", "Get_", "Graph_get", "Graphdims",
    "Group_", "Info_", "Init", "Is_thread", "Keyval", "Op_", "Pack", "Pcontrol", "Query_thread", "Status_",
    "Test_cancelled", "Topo_test", "Type_", "Unpack", "Wtick", "Wtime",
)  # fmt: skip
"""How the names of calls begin that move nothing, after ``MPI_``."""
MOST_NAMES = 5
REMEDY = "name an archive that otf2-print reads: its traces.otf2, with the folder and the .def beside it"
NS = 1_000_000_000
AT_ONCE = 1000


def bring_otf2(path: Path, folder: TraceFolder) -> list[str]:
    """Write an archive's ranks to ``folder.raw``; what could not be brought, in words. DataError for none."""
    package = otf2()
    with as_data_errors(path, "no archive of OTF2 that can be read", REMEDY), ExitStack() as files:
        archive = files.enter_context(package.reader.open(str(plain_file(path)), batch_events=AT_ONCE))
        places, hosts = _places(package, archive, path)
        known = _communicators(package, archive, len(hosts))
        clock = archive.definitions.clock_properties
        offset, resolution = int(clock.global_offset or 0), int(clock.timer_resolution)

        def to_ns(ticks: int) -> int:
            return (ticks - offset) * NS // resolution

        state, calls = int(State.CLOSED | State.SHARED_CLOCK | State.CLOCK_CLOSED), list[RankCalls]()
        for rank, host in enumerate(hosts):
            head = {"state": state, "host": host.encode()[:63], "library": b"from OTF2"}
            file = files.enter_context(RankFile(folder.raw, rank, len(hosts), **head))
            for each in {each.number: each for each in known.values()}.values():
                if each.members and rank in each.members:
                    file.communicator(each.number, each.number, each.members)
            calls.append(RankCalls(rank, file, known, to_ns))
        for location, event in archive.events:
            if place := places.get(id(location)):
                calls[place[0]].add(place[1], event)
        return _told(calls)


def _told(calls: list[RankCalls]) -> list[str]:
    unended = sum(each.finish() for each in calls)
    lines: list[str] = []
    if evenly := sum(each.shared_evenly for each in calls):
        lines.append(f"bytes to each member are taken as equal in {evenly:,} all-to-alls: OTF2 has their sums only")
    if unended:
        lines.append(f"{plural(unended, 'call')} never returned: left out")
    total = sum((each.left_out for each in calls), Counter[str]())
    named = Counter({name: number for name, number in total.items() if not name.removeprefix("MPI_").startswith(QUIET)})
    if named:
        some = ", ".join(f"{name} ({number:,})" for name, number in named.most_common(MOST_NAMES))
        more = " ..." if len(named) > MOST_NAMES else ""
        lines.append(f"calls that Weft's traces do not have: {some}{more}")
    return lines


def _places(package: Any, archive: Any, path: Path) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Rank and thread of each location by its identity, and the host of each rank."""
    mpi, kind = package.Paradigm.MPI, package.GroupType.COMM_LOCATIONS
    found = [each for each in archive.definitions.groups if each.group_type == kind and each.paradigm == mpi]
    if not found or not found[0].members:
        raise DataError(f"{path}: none of its processes calls MPI", "record an application of several ranks")
    first = list(found[0].members)
    places = {id(location): (rank, 0) for rank, location in enumerate(first)}
    of_process = {id(location.group): rank for rank, location in enumerate(first)}
    threads = Counter[int]()
    for location in archive.definitions.locations:
        rank = of_process.get(id(location.group))
        if rank is not None and id(location) not in places:
            threads[rank] += 1
            places[id(location)] = (rank, threads[rank])
    hosts = [str(getattr(each.group.system_tree_parent, "name", "") or "unknown") for each in first]
    return places, hosts


def _communicators(package: Any, archive: Any, ranks: int) -> dict[int, Known]:
    """The communicators by their definitions' identity: the first of all ranks is the world."""
    kinds, whole = package.GroupType, tuple(range(ranks))
    found: dict[int, Known] = {}
    all_ranks = next(each for each in archive.definitions.groups if each.group_type == kinds.COMM_LOCATIONS)
    rank_of = {id(location): rank for rank, location in enumerate(all_ranks.members)}
    for number, definition in enumerate(archive.definitions.comms, 3):
        group = getattr(definition, "group", None)
        if group is None:
            continue  # between two groups
        if group.group_type == kinds.COMM_SELF:
            found[id(definition)] = Known(SELF, None)
            continue
        members = tuple(rank_of[id(member)] for member in group.members)
        if members == whole and all(each.number != WORLD for each in found.values()):
            found[id(definition)] = Known(WORLD, None)
        elif members:
            found[id(definition)] = Known(number, members)
    return found


def import_trace(source: Path, into: Path) -> list[str]:
    """Bring another tool's trace into a new folder; what could not be brought, in words. StudyError, DataError."""
    give = "give an archive's traces.otf2, or its folder"
    if not source.exists():
        raise DataError(f"{source} does not exist", give)
    if not source.is_dir():
        with file_errors(source):
            plain_file(source)
    anchor = source if source.is_file() else next(iter(sorted(source.glob("*.otf2"))), None)
    if anchor is None:
        raise DataError(f"{source} has no archive of OTF2 (*.otf2)", give)
    new_folder(into, "weft trace import SOURCE -o RUN")
    folder = TraceFolder(into)
    try:
        with file_errors(folder.path):
            make_folder(folder.raw)
        folder.describe(imported=str(source), weft=__version__)
        lines = bring_otf2(anchor, folder)
        convert_trace(folder)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return lines
