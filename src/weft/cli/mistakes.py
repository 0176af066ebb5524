# SPDX-License-Identifier: BSD-3-Clause
"""Wrong command lines in words, with the help to ask for."""

from collections.abc import Sequence
from difflib import get_close_matches

from cyclopts import CycloptsError
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnusedCliTokensError


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
    """Show the default of an option as it would be typed, and none where it is empty.

    Python's own form, ``('local',)``, is not what anybody types.
    """
    if isinstance(default, (tuple, list)):
        return " ".join(str(each) for each in default) or None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return None if default in ("", False, None) else str(default)
