# SPDX-License-Identifier: BSD-3-Clause
"""Each ``weft`` command that README and docs print is one that the command line takes, with a study that ships."""

import re
import shlex
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from weft.cli.app import VERBS, app

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
#: A command at the start of a line of a block, or between backquotes.
COMMAND = re.compile(r"(?:^ {4}|^|`)(?:\$ )?(?:[\w./-]*/)?(weft(?: [^`\n]+)?)(?:`|$)", re.MULTILINE)
#: Forms, in which a word stands for many: an optional part, a choice, an ellipsis.
FORM = re.compile(r"\[|\.\.\.|…|\|")
PLACEHOLDER = {"N": "2", "K": "2", "P": "2", "PORT": "1"}


def commands(page: Path) -> list[list[str]]:
    """The words of each command of a page after ``weft``; forms are not commands."""
    found: list[list[str]] = []
    for match in COMMAND.finditer(page.read_text().replace("\\\n", " ")):
        text = match[1]
        if FORM.search(text):
            continue
        for part in re.split(r"\s*(?:;|&&)\s*", text):
            words = shlex.split(part, comments=True)
            if words[:1] == ["weft"] and len(words) > 1 and words[1] in VERBS and words[1] != "help":
                found.append([PLACEHOLDER.get(word, word) for word in words[1:]])
    return found


def refused(words: list[str]) -> str:
    """Why the command line does not take a command; empty if it does."""
    try:
        app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as problem:
        return str(problem).strip()
    is_named = words[0] in ("run", "plan") and re.fullmatch(r"[a-z0-9-]+", words[1])
    return "" if not is_named or (ROOT / "studies" / f"{words[1]}.toml").is_file() else "no such study ships"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_taken(page: Path) -> None:
    # A verb alone, or with nothing but its name in backquotes, names the verb and is no command to type.
    bad = [(" ".join(words), why) for words in commands(page) if len(words) > 2 and (why := refused(words))]
    assert bad == []


def test_there_are_commands_to_check_and_a_wrong_one_is_seen() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 150
    assert refused(["run", "contention", "--onn", "local"])
    assert refused(["place", "tara"])
    assert refused(["run", "contenton", "--on", "local"])
    assert not refused(["run", "contention", "--on", "local", "--nodes", "2,4"])
