# SPDX-License-Identifier: BSD-3-Clause
"""A site under Slurm: ``sinfo``, ``scontrol show config|partition|topology``, ``srun --mpi=list``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.fabric.site.found import NodeClass, Queue, Site, Unread, alike, count, names_of, rows, word
from weft.text import plain

SINFO = ("sinfo", "--noheader", "--exact", "--format=%P|%l|%X|%Y|%Z|%m|%t|%N|%G")
CONFIG = ("scontrol", "show", "config")
PARTITIONS = ("scontrol", "show", "partition", "--oneliner")
TOPOLOGY = ("scontrol", "show", "topology")
MPI = ("srun", "--mpi=list")
COMMANDS = (SINFO, CONFIG, PARTITIONS, TOPOLOGY, MPI)
DOWN = re.compile(r"down|drain|drng|fail|unk|boot|maint|inval|no_?r|futr|futu|resv|reserv|pow_dn|[*$]$", re.IGNORECASE)
"""States of nodes that take no job: ``*`` does not respond, ``$`` is in a reservation for maintenance."""

MOST_SOCKETS = 16
KNOWN = ("pmix", "pmix_v5", "pmix_v4", "pmix_v3", "pmi2", "cray_shasta")
MIB = 2**20


@dataclass(frozen=True)
class Rules:
    """What a partition allows."""

    is_open: bool = True  # whether it takes jobs of a user and runs them
    # keys of ``[batch]`` and the first account and quality of service that it allows
    hints: tuple[tuple[str, str], ...] = ()
    most: int = 0  # most nodes of a job; 0 where there is no limit


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    unread = Unread()
    named = re.search(r"^ClusterName\s*=\s*(\S+)", outputs.get(CONFIG, ""), re.MULTILINE)
    return Site(
        "slurm",
        word(named[1]) if named else "",
        _queues(outputs.get(SINFO, ""), _rules(outputs.get(PARTITIONS, "")), unread),
        _starts(re.findall(r"[a-z0-9_]+", outputs.get(MPI, ""))),
        _leaves(outputs.get(TOPOLOGY, ""), unread),
        tuple(" ".join(command[:3]) for command, text in outputs.items() if text.strip()),
        tuple(unread.lines),
    )


def _devices(fields: Sequence[str]) -> str:
    """Generic resources (GRES) of a node, without the sockets that they are on."""
    said = re.sub(r"\([^)]*\)", "", fields[0]) if fields else ""
    return plain(said)[:60]


def _starts(words: Sequence[str]) -> tuple[str, ...]:
    """Known plugins among words of a list; of PMIx those of one version only without the one for all."""
    known = [name for name in KNOWN if name in words]
    return tuple(name for name in known if not (name.startswith("pmix_") and "pmix" in known))


def seconds(text: str) -> float:
    """Seconds of ``1-12:00:00``, ``12:00:00``, ``30:00`` or ``45`` (minutes); 0 for ``infinite`` and what is none."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not found or max(len(part or "") for part in found.groups()) > 6:
        return 0.0
    days, one, two, three = (int(part) if part else 0 for part in found.groups())
    if found[1] is not None or found[4] is not None:  # days-hours[:minutes[:seconds]], hours:minutes:seconds
        return float(days * 86400 + one * 3600 + two * 60 + three)
    return float(one * 60 + two)  # minutes[:seconds]


def _queues(text: str, rules: Mapping[str, Rules], unread: Unread) -> tuple[Queue, ...]:
    limits: dict[str, float] = {}
    classes: dict[str, list[NodeClass]] = {}
    down: dict[str, list[str]] = {}
    default = ""
    for fields in rows(text, "|"):
        partition = word(fields[0].removesuffix("*"))
        if len(fields) not in (8, 9) or not partition:
            unread.add("sinfo", "|".join(fields))
            continue
        limit, sockets, each, threads, memory, state, nodes = fields[1:8]
        default = partition if fields[0].endswith("*") else default
        limits[partition] = seconds(limit)
        if names := names_of(nodes, "sinfo", unread):
            if DOWN.search(state):
                down.setdefault(partition, []).extend(names)
            else:
                cores = count(sockets) * count(each)
                # where the site says only CPUs, Slurm calls each of them a socket of one core
                known = count(sockets) if count(each) > 1 or count(sockets) <= MOST_SOCKETS else 0
                made = NodeClass(names, cores, known, count(threads), count(memory) * MIB, _devices(fields[8:]))
                classes.setdefault(partition, []).append(made)
    return tuple(
        Queue(
            name, name == default, limit, alike(classes.get(name, ())),
            tuple(down.get(name, ())), rules.get(name, Rules()).hints, rules.get(name, Rules()).most,
        )
        for name, limit in limits.items()
        if rules.get(name, Rules()).is_open
    )  # fmt: skip


def _rules(text: str) -> dict[str, Rules]:
    found: dict[str, Rules] = {}
    for line in text.splitlines():
        keys = dict(re.findall(r"(\w+)=(\S*)", line))
        rules = {"account": keys.get("AllowAccounts", ""), "qos": keys.get("AllowQos", "")}
        allowed = ((key, value.split(",")[0]) for key, value in rules.items() if value not in ("", "ALL", "N/A"))
        if name := word(keys.get("PartitionName")):
            hints = tuple((key, word(value)) for key, value in allowed if word(value))
            is_open = keys.get("State", "UP") == "UP" and keys.get("RootOnly", "NO") == "NO"
            found[name] = Rules(is_open, hints, count(keys.get("MaxNodes", "")))
    return found


def _leaves(text: str, unread: Unread) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Switches of ``scontrol show topology`` that have nodes of their own."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for line in text.splitlines():
        keys = dict(re.findall(r"(\w+)=(\S*)", line))
        if keys.get("Level") == "0" and word(keys.get("SwitchName")) and keys.get("Nodes"):
            found.append((keys["SwitchName"], names_of(keys["Nodes"], "scontrol show topology", unread)))
    return tuple((name, nodes) for name, nodes in found if nodes)
