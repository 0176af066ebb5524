# SPDX-License-Identifier: BSD-3-Clause
"""What a host ran out of: its working folder, memory, files that may be open, threads. Never a mistake in Weft."""

import errno
import os
import resource
from collections.abc import Iterator

from weft.errors import WeftError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
LEAST_ADDRESSES = 4 << 30
"""Bytes of addresses below which the libraries of tables end a process by a signal instead of an error."""
NO_TABLES = frozenset({"run", "plan", "list", "fabric", "init", "doctor", "completion", "exec", "place", "route"})
"""Verbs that load none of those libraries, or only after what they are for: a run measures first."""
NO_MEMORY = ("failed to map segment", "cannot allocate memory", "out of memory", "can't start new thread")
"""What libraries say, in small letters."""


class HostError(WeftError):
    """The host gives this process too little of something."""


def require_room(words: list[str]) -> None:
    """Look for what no verb can work without, before one begins.

    Raises
    ------
    HostError
        The working folder was deleted, or addresses are limited to fewer than tables need.
    """
    if not words or words[0] in ("help", "completion", "-V", "--version") or "--help" in words or "-h" in words:
        return
    try:
        os.getcwd()  # noqa: PTH109 - for its error
    except OSError as problem:
        told = f"the working folder cannot be used: {problem.strerror or problem}"
        raise HostError(
            f"{told} (it may have been deleted)", "cd to one that is there, and repeat the command"
        ) from None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if words[0] not in NO_TABLES and soft != resource.RLIM_INFINITY and soft < LEAST_ADDRESSES:
        from weft.format import format_bytes  # not at each start

        least = format_bytes(LEAST_ADDRESSES)
        told = f"this shell limits the address space to {format_bytes(soft)} (ulimit -v), tables need {least}"
        raise HostError(told, "ulimit -v unlimited, or a job with more memory; then repeat the command")


def cause_of(problem: BaseException) -> WeftError | None:
    """The error in words if an exception, or one that led to it, says that the host ran out of something."""
    for each in _chain(problem):
        if isinstance(each, OSError) and each.errno in FULL and isinstance(each.filename, str):
            from weft.files.atomic import explain  # not at each start: it loads pydantic

            return explain(each.filename, each)
        if not isinstance(each, WeftError) and "too many open files" in str(each).lower():
            return HostError("this command may open too few files (ulimit -n)", "raise the limit: ulimit -n 4096")
        if _is_of_memory(each):
            told = str(each).strip().splitlines()[:1] or [type(each).__name__]
            return HostError(
                f"no memory is left for this command: {told[0][:200]}",
                "free memory, raise a limit (ulimit -v, --mem) or use a larger host; then repeat the command",
            )
    return None


def _is_of_memory(problem: BaseException) -> bool:
    if isinstance(problem, MemoryError) or (isinstance(problem, OSError) and problem.errno == errno.ENOMEM):
        return True
    said = f"{type(problem).__name__}: {problem}".lower()
    return not isinstance(problem, WeftError) and any(each in said for each in (*NO_MEMORY, "outofmemory"))


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that it was raised from."""
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        problem = problem.__cause__ or problem.__context__
