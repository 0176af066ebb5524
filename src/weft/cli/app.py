# SPDX-License-Identifier: BSD-3-Clause
"""The command ``weft``: dispatches the verbs, turns errors into messages and exit codes."""

import errno
import gc
import json
import locale
import os
import resource
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnusedCliTokensError

from weft import __version__
from weft.cli.output import NobodyReadsError, guarded
from weft.cli.signals import code_after, heed_signals
from weft.errors import LaunchError, PathError, WeftError
from weft.extras import explain_missing
from weft.files.shipped import LENT
from weft.text import one_line, plain

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
LEAST_ADDRESSES = 4 << 30  # bytes; with fewer, the libraries of tables end a process by a signal, not an error
NO_TABLES = frozenset({"run", "plan", "list", "fabric", "init", "doctor", "completion", "exec", "place", "route"})
"""Verbs that load none of those libraries, or only after what they are for: a run measures first."""
#: What libraries say, in small letters.
NO_MEMORY = ("failed to map segment", "cannot allocate memory", "out of memory", "outofmemory",
             "can't start new thread")  # fmt: skip


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


class HostError(WeftError):
    """The host gives this process too little of something."""


def require_room(words: list[str]) -> None:
    """Raise HostError where no verb can work: the working folder was deleted, or addresses are too few for tables."""
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
    seen: set[int] = set()
    each: BaseException | None = problem
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        if isinstance(each, OSError) and each.errno in FULL and isinstance(each.filename, str):
            from weft.files.atomic import explain  # not at each start: it loads pydantic

            return explain(each.filename, each)
        if not isinstance(each, WeftError) and "too many open files" in str(each).lower():
            return HostError("this command may open too few files (ulimit -n)", "raise the limit: ulimit -n 4096")
        said = f"{type(each).__name__}: {each}".lower()
        full = isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno == errno.ENOMEM)
        if full or (not isinstance(each, WeftError) and any(words in said for words in NO_MEMORY)):
            lines = str(each).strip().splitlines()[:1] or [type(each).__name__]
            remedy = "free memory, raise a limit (ulimit -v, --mem) or use a larger host; then repeat the command"
            return HostError(f"no memory is left for this command: {lines[0][:200]}", remedy)
        each = each.__cause__ or each.__context__
    return None


# Imported when they are used: `weft --help` must not wait for DuckDB. So their lines of help stand here.
VERBS = {
    "plan": ("weft.cli.run:plan", "Print what a study would measure on a fabric; starts nothing."),
    "run": ("weft.cli.run:run", "Measure a study on a fabric, or continue an interrupted run."),
    "check": ("weft.cli.check:check", "Check in under a minute whether a node, cable or switch is slow."),
    "audit": (
        "weft.cli.check:audit",
        "Check in two minutes whether the MPI library's collectives are slower than others.",
    ),
    "watch": ("weft.cli.check:watch", "Measure a study every night on free nodes, and tell when its times changed."),
    "show": ("weft.cli.show:show", "Print the tables of a run."),
    "why": ("weft.cli.show:why", "Say why an all-to-all takes its time: hardware, messages, contention, algorithm."),
    "report": ("weft.cli.show:report", "Write one offline page about runs."),
    "compare": ("weft.cli.show:compare", "Show whether runs differ, by how much and with what confidence."),
    "fabric": ("weft.cli.fabric:app", "Look at fabrics: draw, check, import and fit them, or bring one up."),
    "exec": ("weft.cli.tune:execute", "Run an application with Weft's all-to-all, without recompiling it."),
    "trace": ("weft.cli.trace:app", "Record what an application asks of the network, and show it."),
    "tune": ("weft.cli.tune:app", "Measure which all-to-all is the fastest where, and write a selection table."),
    "replay": ("weft.cli.run:replay", "Play a traced application's calls again on any fabric."),
    "whatif": ("weft.cli.run:whatif", "Replay a traced application with one thing changed: what would help."),
    "route": ("weft.cli.route:app", "Which link limits which traffic, on real forwarding tables, and better tables."),
    "place": ("weft.cli.route:place", "Find the free nodes to request from the scheduler."),
    "papers": ("weft.cli.run:papers", "Compute the papers' figures again on simulated machines."),
    "list": ("weft.cli.show:list_", "List studies, fabrics, or the runs below ./runs."),
    "init": ("weft.cli.doctor:init", "Write an annotated fabric file of this cluster, from its scheduler."),
    "doctor": (
        "weft.cli.doctor:doctor",
        "Show what this host has and lacks, or whether a fabric works, and what helps.",
    ),
    "completion": ("weft.cli.app:completion", "Print the script that completes verbs in bash, zsh or fish."),
    "help": ("weft.cli.app:main", "Explain a verb: weft help run."),
}
AS_IT_WAS = "WEFT_PYTHON_BEFORE"
LONGEST_NAMED = 300  # characters of a path in a message
HELP = "Is the interconnect of a parallel computer the bottleneck, why, what would it do elsewhere, and what helps."
# Plain text: parsing help as Markdown costs another 50 ms at each start.
app = App(
    name="weft", help=HELP, version=__version__, version_flags=("--version", "-V"), help_format="plaintext",
    suppress_keyboard_interrupt=False, default_parameter=Parameter(show_default=default_in_words, negative=""),
)  # fmt: skip
for _name, (_path, _help) in VERBS.items():
    app.command(_path, name=_name, help=_help)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; exit code 0: success, 1: a failed run, 2: a user's mistake, 128 + n: ended by signal n."""
    gc.set_threshold(100_000, 50)  # rows of tables hold no cycles: looking for some took a fifth of a large `show`
    LENT["minimal tables"], LENT["all-to-all loads"] = native("minimal_tables"), native("loads_of")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        use_utf8()
    heed_signals()
    with guarded():
        return run_verb(words)


def native(name: str) -> Callable[..., Any]:
    """A function of `weft.route.library` with the library built at first use; it gives None where nothing builds it."""

    def lent(*given: Any) -> Any:
        from weft.launch.preload import route_library
        from weft.route import library

        try:
            return getattr(library, name)(route_library(), *given)
        except LaunchError:
            return None

    return lent


def use_utf8() -> None:
    """Start this command again in Python's UTF-8 mode where names of files have another encoding, as in the locale C.
    DuckDB and Arrow need UTF-8. The output keeps the user's encoding; what the command starts, its environment.
    """
    if os.environ.get(AS_IT_WAS) is None and sys.getfilesystemencoding() != "utf-8":
        output = {"PYTHONIOENCODING": locale.getencoding(), **os.environ}
        before = {name: os.environ.get(name) for name in ("PYTHONUTF8", "PYTHONIOENCODING")}
        again = {**output, "PYTHONUTF8": "1", AS_IT_WAS: json.dumps(before)}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], again)
    for name, value in json.loads(os.environ.pop(AS_IT_WAS, "{}")).items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def run_verb(words: list[str]) -> int:
    """Run the verb that the first word names, and return its exit code; 141 where the reader of its output has gone."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words and not words[0].startswith("-") and words[0] not in VERBS:
        return tell(f'no verb "{words[0]}"', among_verbs(words[0], list(VERBS)), 2)
    try:
        require_room(words)
        result = called(words)
        sys.stdout.flush()
    except NobodyReadsError as gone:
        return gone.exit_code
    except CycloptsError as problem:
        return tell(what_is_wrong(problem), which_help(problem), 2)
    except KeyboardInterrupt as ended:
        sys.stderr.write("interrupted: the same command starts again\n")
        return code_after(ended)
    except Exception as problem:
        if isinstance(problem, ModuleNotFoundError) and (missing := explain_missing(problem.name or "")):
            return tell(*missing, 2)
        cause = cause_of(problem) or problem
        if not isinstance(cause, WeftError):
            raise  # a mistake in Weft
        return tell(cause.what, cause.remedy, cause.exit_code)
    return result if isinstance(result, int) else 0


def called(words: list[str]) -> object:
    """Call a verb, and return what it returns. Raises PathError: a path cannot even be looked at."""
    try:
        return app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except OSError as problem:
        if not isinstance(problem.filename, str) or cause_of(problem):
            raise
        failed = f"{one_line(problem.filename, LONGEST_NAMED)}: {problem.strerror}"
        raise PathError(failed, "check the path, and whether you may read it (ls -ld)") from problem


def tell(what: str, remedy: str, code: int) -> int:
    """Print an error and its remedy on stderr."""
    sys.stderr.write(plain(f"error: {what}\n" + (f"  -> {remedy}\n" if remedy else "")))
    return code


if __name__ == "__main__":
    sys.exit(main())


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script that completes verbs and options: eval "$(weft completion bash)" in ~/.bashrc.

    Args:
      shell: bash, zsh or fish.
    """
    sys.stdout.write(app.generate_completion(shell=shell, prog_name="weft") + "\n")
