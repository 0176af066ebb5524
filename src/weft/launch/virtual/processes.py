# SPDX-License-Identifier: BSD-3-Clause
"""Finding the processes of virtual clusters from outside, where each has another number than inside."""

import json
import os
import select
import signal
from pathlib import Path
from typing import Any

PROC = Path("/proc")
HOLDER = Path(__file__).with_name("holder.py")
RECORD = "root/dev/shm/weft/cluster.json"
SHORTLY_S = 5.0


def child_of(parent: int) -> int:
    """The one child of ``unshare --fork`` or ``nsenter --pid``, by its number out here; 0 when there is none."""
    children = PROC / str(parent) / "task" / str(parent) / "children"
    try:
        if children.is_file():  # a kernel built with CONFIG_PROC_CHILDREN
            return int((children.read_text().split() or ["0"])[0])
    except OSError:
        return 0
    return next((int(entry.name) for entry in _numbered() if _parent(entry) == parent), 0)


def inhabitants(holder: int) -> list[int]:
    """Every process in the PID namespace of a holder, itself excepted."""
    namespace = _pid_namespace(PROC / str(holder))
    found = [int(entry.name) for entry in _numbered() if _pid_namespace(entry) == namespace]
    return [pid for pid in found if pid != holder] if namespace else []


def end_inhabitants(holder: int) -> int:
    """Kill a cluster's processes but its holder, held by a file lest a number is used again; returns how many."""
    namespace = _pid_namespace(PROC / str(holder))
    ended = 0
    for pid in inhabitants(holder):
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if namespace and _pid_namespace(PROC / str(pid)) == namespace:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], SHORTLY_S)
                ended += 1
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)
    return ended


def standing_holders() -> list[int]:
    """Holders of this user's clusters that were brought up to stay."""
    return sorted(int(entry.name) for entry in _numbered() if _is_standing(entry))


def read_record(holder: int) -> dict[str, Any] | None:
    """What the holder wrote of its cluster; None when it is not (or no longer) there."""
    try:
        return json.loads((PROC / str(holder) / RECORD).read_text())
    except (OSError, ValueError):
        return None


def _numbered() -> list[Path]:
    return [entry for entry in PROC.iterdir() if entry.name.isdecimal()]


def _pid_namespace(process: Path) -> str:
    try:
        return str((process / "ns" / "pid").readlink())
    except OSError:  # it ended, or belongs to another user
        return ""


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _is_standing(process: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        return (
            process.stat().st_uid == os.geteuid()
            and os.fsencode(HOLDER) in words
            and b"standing" in words
            and Path(os.fsdecode(words[0])).name != "unshare"  # its parent, with the same arguments behind it
        )
    except OSError:  # it ended meanwhile
        return False
