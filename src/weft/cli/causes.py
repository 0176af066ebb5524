# SPDX-License-Identifier: BSD-3-Clause
"""What went wrong before or beside a verb: a mistyped command line, or what a host ran out of; no mistake in Weft."""

import errno
import os
import resource
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from cyclopts import CycloptsError
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnusedCliTokensError

from weft.errors import WeftError


def what_is_wrong(problem: CycloptsError) -> str:
    """Say what is wrong with a command line: ``weft place needs --nodes``."""
    verb = " ".join(("weft", *(problem.command_chain or ())))
    if isinstance(problem, MissingArgumentError) and problem.argument is not None:
        name = problem.argument.name
        return f"{name} needs a value" if problem.keyword else f"{verb} needs {name}"
    if isinstance(problem, UnknownCommandError) and problem.unused_tokens:
        return f'{verb} has no verb "{problem.unused_tokens[0]}"'
    if isinstance(problem, UnusedCliTokensError) and problem.unused_tokens:
        return f"{verb}: unexpected argument {' '.join(problem.unused_tokens)!r}"
    return str(problem).strip().replace("unable to convert", "cannot convert").replace(" into int", " into a number")


def which_help(problem: CycloptsError) -> str:
    """Return the command that explains the verb of a wrong command line, or all verbs there are in its place."""
    if isinstance(problem, UnknownCommandError) and problem.unused_tokens and problem.app:
        return among_verbs(problem.unused_tokens[0], [name for name in problem.app if not name.startswith("-")])
    return " ".join(("weft", *(problem.command_chain or ()), "--help"))


def among_verbs(word: str, verbs: Sequence[str]) -> str:
    """The verb that a word is nearest to, if any, and all verbs."""
    near = get_close_matches(word, verbs, n=1)
    return f"{f'did you mean {near[0]}? ' if near else ''}verbs: {', '.join(verbs)}"


def default_in_words(default: object) -> str | None:
    """Show the default of an option as it would be typed, unlike Python's ``('local',)``; none where it is empty."""
    if isinstance(default, (tuple, list)):
        return " ".join(str(each) for each in default) or None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return None if default in ("", False, None) else str(default)


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

    Raises HostError: the working folder was deleted, or addresses are limited to fewer than tables need.
    """
    if not words or words[0] in ("help", "completion", "-V", "--version") or "--help" in words or "-h" in words:
        return
    try:
        os.getcwd()  # noqa: PTH109 - for its error
    except OSError as problem:
        text = f"the working folder cannot be used: {problem.strerror or problem} (it may have been deleted)"
        raise HostError(text, "cd to one that is there, and repeat the command") from None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if words[0] not in NO_TABLES and soft != resource.RLIM_INFINITY and soft < LEAST_ADDRESSES:
        from weft.format import format_bytes  # not at each start

        least = format_bytes(LEAST_ADDRESSES)
        text = f"this shell limits the address space to {format_bytes(soft)} (ulimit -v), tables need {least}"
        raise HostError(text, "ulimit -v unlimited, or a job with more memory; then repeat the command")


def cause_of(problem: BaseException) -> WeftError | None:
    """The error in words if an exception, or one that led to it, says that the host ran out of something."""
    for each in _chain(problem):
        if isinstance(each, OSError) and each.errno in FULL and isinstance(each.filename, str):
            from weft.files.atomic import explain  # not at each start: it loads pydantic

            return explain(each.filename, each)
        if not isinstance(each, WeftError) and "too many open files" in str(each).lower():
            return HostError("this command may open too few files (ulimit -n)", "raise the limit: ulimit -n 4096")
        if _is_of_memory(each):
            lines = str(each).strip().splitlines()[:1] or [type(each).__name__]
            remedy = "free memory, raise a limit (ulimit -v, --mem) or use a larger host; then repeat the command"
            return HostError(f"no memory is left for this command: {lines[0][:200]}", remedy)
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
