# SPDX-License-Identifier: BSD-3-Clause
"""A site under Slurm: ``sinfo``, ``scontrol show config|partition|topology``, ``srun --mpi=list``."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from weft.fabric.site.found import Answers, NodeClass, Queue, Site, alike, count, rows, word
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


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    answers = Answers(outputs)
    named = re.search(r"^ClusterName\s*=\s*(\S+)", answers.text(CONFIG), re.MULTILINE)
    offered = re.findall(r"[a-z0-9_]+", answers.text(MPI))
    # of PMIx those plugins of one version only without the one for all
    starts = [name for name in KNOWN if name in offered and not (name.startswith("pmix_") and "pmix" in offered)]
    queues = tuple(_queues(answers, _rules(answers.text(PARTITIONS))))
    leaves: list[tuple[str, tuple[str, ...]]] = []  # switches that have nodes of their own
    for keys in (dict(re.findall(r"(\w+)=(\S*)", line)) for line in answers.text(TOPOLOGY).splitlines()):
        is_leaf = keys.get("Level") == "0" and word(keys.get("SwitchName")) and keys.get("Nodes")
        if is_leaf and (nodes := answers.names(keys["Nodes"], "scontrol show topology")):
            leaves.append((keys["SwitchName"], nodes))
    return answers.site("slurm", word(named[1]) if named else "", queues, mpi=tuple(starts), leaves=tuple(leaves))


def seconds(text: str) -> float:
    """Seconds of ``1-12:00:00``, ``12:00:00``, ``30:00`` or ``45`` (minutes); 0 for ``infinite`` and what is none."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not found or max(len(part or "") for part in found.groups()) > 6:
        return 0.0
    days, one, two, three = (int(part) if part else 0 for part in found.groups())
    if found[1] is not None or found[4] is not None:  # days-hours[:minutes[:seconds]], hours:minutes:seconds
        return float(days * 86400 + one * 3600 + two * 60 + three)
    return float(one * 60 + two)  # minutes[:seconds]


def _queues(answers: Answers, rules: Mapping[str, Queue | None]) -> Iterator[Queue]:
    limits: dict[str, float] = {}
    classes, down = defaultdict[str, list[NodeClass]](list), defaultdict[str, list[str]](list)
    default = ""
    for fields in rows(answers.text(SINFO), "|"):
        partition = word(fields[0].removesuffix("*"))
        if len(fields) not in (8, 9) or not partition:
            answers.doubt("sinfo", "|".join(fields))
            continue
        limit, sockets, each, threads, memory, state, nodes = fields[1:8]
        default = partition if fields[0].endswith("*") else default
        limits[partition] = seconds(limit)
        names = answers.names(nodes, "sinfo")
        if DOWN.search(state):
            down[partition] += names
        elif names:
            # where the site says only CPUs, Slurm calls each of them a socket of one core
            known = count(sockets) if count(each) > 1 or count(sockets) <= MOST_SOCKETS else 0
            cores, devices = count(sockets) * count(each), re.sub(r"\([^)]*\)", "", "".join(fields[8:]))  # no sockets
            made = NodeClass(names, cores, known, count(threads), count(memory) * 2**20, plain(devices)[:60])
            classes[partition].append(made)
    for name, limit in limits.items():
        if bare := rules.get(name, Queue(name)):
            up, lost = alike(classes[name]), tuple(down[name])
            yield replace(bare, is_default=name == default, limit_s=limit, classes=up, down=lost)


def _rules(text: str) -> dict[str, Queue | None]:
    """Partitions without their nodes, with the first account and quality of service allowed; None for a closed one."""
    found: dict[str, Queue | None] = {}
    for line in text.splitlines():
        keys = dict(re.findall(r"(\w+)=(\S*)", line))
        rules = {"account": keys.get("AllowAccounts", ""), "qos": keys.get("AllowQos", "")}
        allowed = ((key, value.split(",")[0]) for key, value in rules.items() if value not in ("", "ALL", "N/A"))
        if name := word(keys.get("PartitionName")):
            hints = tuple((key, word(value)) for key, value in allowed if word(value))
            is_open = keys.get("State", "UP") == "UP" and keys.get("RootOnly", "NO") == "NO"
            found[name] = Queue(name, hints=hints, most=count(keys.get("MaxNodes", ""))) if is_open else None
    return found
