# SPDX-License-Identifier: BSD-3-Clause
"""A site under LSF: ``lsid``, ``lshosts -w``, ``bhosts -w``, ``bqueues -l``, ``bparams``, ``bmgroup -r -w``."""

import re
from collections.abc import Iterator, Mapping, Sequence

from weft.fabric.site.found import Answers, NodeClass, Queue, Site, alike, count, rows, scaled, word

ID = ("lsid",)
HARDWARE = ("lshosts", "-w")
HOSTS = ("bhosts", "-w")
QUEUES = ("bqueues", "-l")
PARAMETERS = ("bparams",)
GROUPS = ("bmgroup", "-r", "-w")
COMMANDS = (ID, HARDWARE, HOSTS, QUEUES, PARAMETERS, GROUPS)
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    answers = Answers(outputs)
    up, down = set[str](), list[str]()  # hosts that run jobs now or later; hosts without slots are neither
    for fields in rows(answers.text(HOSTS)):
        if fields[0] == "HOST_NAME":
            continue
        if len(fields) < 4 or len(answers.names(fields[0], "bhosts")) != 1:
            answers.doubt("bhosts", " ".join(fields))
        elif re.match(r"unavail|unreach|unlicensed|closed_Adm|closed_LIM|closed_Lock", fields[1]):
            down.append(fields[0])
        elif fields[3] != "0":
            up.add(fields[0])
    everywhere = Queue("", True, 0.0, alike(_classes(up, answers)), tuple(down))
    named = re.search(r"My cluster name is (\S+)", answers.text(ID))
    return answers.site("lsf", word(named[1]) if named else "", _queues(everywhere, answers), everywhere)


def _classes(up: set[str], answers: Answers) -> Iterator[NodeClass]:
    """Hosts that are up, by ``lshosts``: name, type, model, factor, cores, memory."""
    for fields in rows(answers.text(HARDWARE)):
        if fields[0] == "HOST_NAME" or fields[0] not in up:
            continue
        if len(fields) < 6 or not count(fields[4]):
            answers.doubt("lshosts", " ".join(fields))
        else:
            yield NodeClass((fields[0],), count(fields[4]), memory=round(scaled(fields[5], UNITS)))


def _queues(whole: Queue, answers: Answers) -> Iterator[Queue]:
    """Queues of ``bqueues -l`` that take jobs, each with its hosts of the whole site."""
    everywhere, groups = whole.hosts, {fields[0]: fields[1:] for fields in rows(answers.text(GROUPS))}
    default = re.search(r"Default Queues?:\s*(\S+)", answers.text(PARAMETERS))
    for part in re.split(r"^QUEUE:\s*", answers.text(QUEUES), flags=re.MULTILINE)[1:]:
        name = word(part.split()[0]) if part.split() else ""
        # what a job gets without a limit of its own stands before what it may ask for
        longest = part.partition("MAXIMUM LIMITS:")[2] or part
        limit = re.search(r"^\s*RUNLIMIT\s*\n\s*(\d{1,9}(?:\.\d+)?)\s*min", longest, re.MULTILINE)
        hosts = re.search(r"^HOSTS:[ \t]*(.*)$", part, re.MULTILINE)
        if name and not re.search(r"\b(Closed|Inact)", part.partition("Interval")[0]):
            own = _hosts(hosts[1].split() if hosts else ["all"], everywhere, groups)
            if not own:
                answers.doubt("bqueues", f"none of the hosts of queue {name} is known, {hosts[1] if hosts else ''}")
                own = everywhere
            is_default, limit_s = default is not None and name == default[1], float(limit[1]) * 60 if limit else 0.0
            yield whole.part(own, name=name, is_default=is_default, limit_s=limit_s)


def _hosts(words: Sequence[str], everywhere: set[str], groups: Mapping[str, Sequence[str]]) -> set[str]:
    """Hosts of a queue by its names, groups (``batch/``) and preferences (``h1+2``), or ``all``; not ``~h1``."""
    found: set[str] = set()
    left_out: set[str] = set()
    for each in words:
        name = re.sub(r"[!/]|\+\d*$", "", each.removeprefix("~"))
        meant = everywhere if name in ("all", "others") else set(groups.get(name, [name]))
        (left_out if each.startswith("~") else found).update(meant)
    return found & everywhere - left_out
