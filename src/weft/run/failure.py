# SPDX-License-Identifier: BSD-3-Clause
"""Failed launches as rows: a time-out, a crash and a failed start are results too (METHOD 23)."""

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft.errors import LaunchError
from weft.files.atomic import write_json
from weft.files.beneath import open_plain
from weft.format import format_bytes, format_seconds
from weft.launch.launcher import Outcome, Slot
from weft.plan.records import Cell, LaunchPlan
from weft.store.folder import RunFolder

TIMEOUT, CRASH, LAUNCH = "timeout", "crash", "launch"
#: What libraries print for want of room, or of a signal that came of it.
NO_ROOM = re.compile(r"(?i)enough space|no space left|target full|bus error|out of resource|signal 7\b|sigbus")
LEAST_SHARED_BYTES = 16 << 20
BOUND = "bound"  # status of a launch that the simulator refuses because of its cost: final; the tables have its bounds
RETRIED = frozenset({TIMEOUT, CRASH, LAUNCH})  # when the same run is started again; all others are final
TAIL_LINES = 12
COMPLAINT = "weft-measure: error: "  # of the kernel's line when it aborts a launch (native/measure/launch/main.cpp)
WATCHDOG_EXIT = 124


def log_tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last non-empty lines of a log."""
    try:
        with open_plain(log) as file:
            file.seek(max(0, log.stat().st_size - 64 * 1024))  # a rank that prints endlessly must not fill our memory
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]


def last_words(tail: Sequence[str]) -> str:
    """The last line of a log before the framed text that mpiexec prints about any failure; else the first in it. What
    PMIx of another host says of a connection that the failed one lost comes later than the cause.
    """
    tail = [line for line in tail if "PMIX ERROR" not in line] or tail
    frames = [place for place, line in enumerate(tail) if not line.strip("-=*")]
    if not frames:
        return tail[-1] if tail else ""
    opens = frames[-2] if len(frames) > 1 else frames[-1]
    before = tail[opens - 1] if opens else ""
    return before if before.strip("-=*") else next((line for line in tail[opens + 1 :] if line.strip("-=*")), "")


def full_shared_memory(log: Path, folder: Path = Path("/dev/shm")) -> str:
    """Why ranks of a host do not start, if their log speaks of room and the folder of shared memory has none; or ""."""
    if not NO_ROOM.search("\n".join(log_tail(log, 500))):
        return ""
    try:
        found = os.statvfs(folder)
    except OSError:
        return f"{folder} is missing, through which ranks of one host exchange messages"
    if found.f_files and not found.f_favail:
        return f"{folder} holds no more files (df -i {folder}); ranks of one host exchange messages through it"
    if (free := found.f_bavail * found.f_frsize) < LEAST_SHARED_BYTES:
        return f"{folder} is full ({format_bytes(free)} free); ranks of one host exchange messages through it"
    return ""


def no_start(outcome: Outcome, times: int) -> LaunchError:
    """The error of launches that failed so many times in a row before anything was measured."""
    if full := full_shared_memory(outcome.log):
        return LaunchError(
            f"the ranks do not start: {full}",
            "remove what ended programs left there (ls -l /dev/shm), or: mount -o remount,size=1g /dev/shm "
            f"(a container: --shm-size=1g); the full output is in {outcome.log}",
        )
    tail = "\n    ".join(log_tail(outcome.log)) or "(it printed nothing)"
    what = f"the ranks do not start: mpiexec {ending(outcome)}, {times} times in a row. Its last lines:\n    {tail}"
    return LaunchError(what, f"the full output is in {outcome.log}; weft doctor looks for causes")


def kernels_word(log: Path) -> str:
    """The kernel's own error message before it ended a launch; empty if there is none."""
    tail = log_tail(log, 40)
    said = [place for place, line in enumerate(tail) if line.startswith(COMPLAINT)]
    if not said:
        return ""
    what, *after = tail[said[0] :]  # the first rank to report an error; the others fail as a consequence
    remedy = after[0].strip().removeprefix("-> ") if after and after[0].startswith("  -> ") else ""
    return what.removeprefix(COMPLAINT) + (f"; {remedy}" if remedy else "")


def status_of(outcome: Outcome, slots: Sequence[Slot]) -> str:
    """Status of a launch that left a cell without a record."""
    if outcome.refused:
        return BOUND
    if outcome.timed_out or any("timeout" in slot.state for slot in slots):
        return TIMEOUT
    # in the simulator a rank that ends with an error leaves the others waiting: the error is what happened
    if outcome.returncode == WATCHDOG_EXIT and not kernels_word(outcome.log):
        return TIMEOUT
    return CRASH if slots else LAUNCH


def under_way(launch: LaunchPlan, missing: Sequence[str], slots: Sequence[Slot]) -> str:
    """Return the cell that a launch was measuring when it ended: from its ranks' status, else the first missing one."""
    order = {cell: place for place, cell in enumerate(launch.cells)}
    return max((slot.cell for slot in slots if slot.cell in missing), key=order.__getitem__, default=missing[0])


def ending(outcome: Outcome) -> str:
    """How a launch ended, in words."""
    code = outcome.returncode
    if outcome.timed_out:
        return f"ended by weft after {outcome.wall_s:.0f} s"
    if code < 0:
        return f"ended by {signal_name(-code)}"
    return f"ended with exit code {code}" + (f" ({signal_name(code - 128)})" if code > 128 else "")


def signal_name(number: int) -> str:
    """Name of a signal, ``SIGKILL``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def reason(status: str, cell: Cell, outcome: Outcome, slots: Sequence[Slot]) -> str:
    """One sentence for the row."""
    if status == BOUND:
        least = f"at least {format_seconds(cell.bound.seconds)}, {cell.bound.name}" if cell.bound else "none is known"
        return f"{outcome.refused}; the lower bound instead: {least}"
    if status == TIMEOUT:
        limit = outcome.limit or f"its limit of {cell.limit_s:g} s"
        return f"hung: not done after {limit}; {phases(slots)}"
    if word := kernels_word(outcome.log):
        return word
    if status == LAUNCH:
        said = last_words(log_tail(outcome.log))
        return f"the ranks did not start: mpiexec {ending(outcome)}{': ' + said if said else ''}"
    return f"the launch {ending(outcome)} and left no record of this cell; {phases(slots)}"


def phases(slots: Sequence[Slot], most: int = 4) -> str:
    """The last phases of the ranks, abridged; the row's record has all of them."""
    if not slots:
        return "no rank reported its phase"
    more = f" and {len(slots) - most} more ranks" if len(slots) > most else ""
    return f"last seen: {', '.join(map(str, slots[:most]))}{more}"


def write_row(
    folder: RunFolder, launch: LaunchPlan, cell: Cell, status: str, outcome: Outcome, slots: Sequence[Slot]
) -> None:
    """Write the record of a cell that has no samples. Raises DataError: The disk is full or read-only."""
    record: dict[str, Any] = {
        "schema": "weft-cell/2", "run": folder.run_id(), "hash": cell.hash, "cell": cell.id, "launch": launch.id,
        "launch_index": launch.index, "kernel": cell.kernel, "ranks": cell.ranks, "status": status,
        "reason": reason(status, cell, outcome, slots), "returncode": outcome.returncode,
        "signal": signal_name(-outcome.returncode) if outcome.returncode < 0 else "",
        "wall_ns": round(outcome.wall_s * 1e9), "phases": [asdict(slot) for slot in slots], "log": outcome.log.name,
        "log_tail": log_tail(outcome.log),
    }  # fmt: skip
    write_json(folder.cell_record(cell.id, launch.index), record)
