# SPDX-License-Identifier: BSD-3-Clause
"""Bringing a DUMPI trace into the folder of a trace: a pass for the communicators, one for the calls."""

import re
from pathlib import Path

from weft.errors import DataError
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import SELF, WORLD, State
from weft.store.trace.writer import RankFile
from weft.trace.dumpi.calls import RankCalls
from weft.trace.dumpi.communicators import Making, making_of, matched
from weft.trace.dumpi.text import PROGRAM, REMEDY, calls_of, has_program, is_dumpi_binary, is_dumpi_text
from weft.trace.left_out import left_out_line

_RANK = re.compile(r"(\d+)\D*$")


def bring_dumpi(path: Path, folder: TraceFolder) -> list[str]:
    """Write the ranks' records of a DUMPI trace into ``folder.raw``; what could not be brought, in words.

    Parameters
    ----------
    path
        A folder with a binary file (where dumpi2ascii is installed) or a text of dumpi2ascii for each rank, whose name
        ends with the rank (dumpi-...-0003.bin).
    folder
        Where the trace goes.

    Raises
    ------
    DataError
        There are no such files, ranks are missing among them, one is torn, or the folder cannot be written.
    """
    texts = texts_of(path)
    seen = [_survey(text) for text in texts]
    known = matched(makings for makings, _ in seen)
    each: list[RankCalls] = []
    for rank, (text, (_, ended)) in enumerate(zip(texts, seen, strict=True)):
        state = int(State.CLOSED) if ended else 0
        with RankFile(folder.raw, rank, len(texts), state=state, host=b"unknown", library=b"from DUMPI") as file:
            for number, members in known.members.items():
                if number not in (WORLD, SELF) and rank in members:
                    file.communicator(number, number, members)
            calls = RankCalls(rank, file, known.members, known.made[rank])
            for call in calls_of(text):
                if call.end_ns >= 0:
                    calls.add(call)
            each.append(calls)
    return _told(each)


def _survey(text: Path) -> tuple[list[Making], bool]:
    """The calls of a rank that make communicators, and whether its last call is MPI_Finalize."""
    makings: list[Making] = []
    last = ""
    for call in calls_of(text):
        last = call.name if call.end_ns >= 0 else ""
        if making := making_of(call):
            makings.append(making)
    return makings, last == "MPI_Finalize"


def texts_of(path: Path) -> list[Path]:
    """The texts of a folder by rank; without texts, its binary files.

    Raises
    ------
    DataError
        It has neither, or not one for each rank from 0 on; or binary files alone, and their reader is not installed.
    """
    files = sorted(file for file in path.iterdir() if file.is_file())
    texts = [file for file in files if is_dumpi_text(file)]
    if not texts:
        texts = [file for file in files if is_dumpi_binary(file)]
        if not texts:
            raise DataError(f"{path} has neither binary files of DUMPI nor texts of {PROGRAM}", REMEDY)
        if not has_program():
            raise DataError(
                f"{path} has DUMPI's binary files, and their reader, {PROGRAM}, is not installed here",
                f"put SST's {PROGRAM} on PATH, or, where it is, {REMEDY}",
            )
    by_rank: dict[int, Path] = {}
    for text in texts:
        found = _RANK.search(text.stem)
        rank = int(found[1]) if found else -1
        if rank in by_rank or rank < 0:
            raise DataError(f"{text}: its name does not end with a rank that no other has", REMEDY)
        by_rank[rank] = text
    lacking = [rank for rank in range(max(by_rank) + 1) if rank not in by_rank]
    if lacking:
        raise DataError(f"{path} has no file of rank {lacking[0]} ({len(lacking):,} ranks are missing)", REMEDY)
    return [by_rank[rank] for rank in sorted(by_rank)]


def _told(each: list[RankCalls]) -> list[str]:
    lines: list[str] = []
    if sizes := sum(calls.types.unknown for calls in each):
        lines.append(f"{sizes:,} uses of datatypes whose size is not known: an element counts as a byte")
    if unknown := sum(calls.unknown for calls in each):
        lines.append(f"{unknown:,} times a sender or a communicator is not known: statuses were not recorded")
    return lines + left_out_line(calls.left_out for calls in each)
