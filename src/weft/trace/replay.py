# SPDX-License-Identifier: BSD-3-Clause
"""A replay as a study: the script of a trace, on nodes that a fabric has."""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.analyse.tables.claims import Grade, grade_of
from weft.analyse.trace.claims import doubt_claim, trace_doubts
from weft.errors import StudyError
from weft.fabric.model import Fabric, complete
from weft.files.atomic import write_atomic
from weft.format import format_seconds, plural
from weft.host import read_host
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, is_converted
from weft.trace.events import reading_trace
from weft.trace.rank_actions import Made, make_script
from weft.words.card import say


@dataclass(frozen=True)
class Asked:
    """What to change in a replay."""

    nodes: int | None = None  # number of nodes; None: as few as hold the ranks
    compute: float = 1.0  # time between calls, as a multiple of the traced one
    place: str = "compact"  # the fabric's nodes to take: a node set, "best" or "compact"
    alltoall: str = "default"  # what makes all-to-alls: "default" (the library's own), or one of Weft's


def prepare(trace: Path, fabrics: list[Fabric], asked: Asked) -> tuple[Path, Made]:
    """Write a replay's script and study beside the trace; the study, and what the script has. StudyError, DataError."""
    folder = TraceFolder.open(trace)
    with reading_trace(trace):
        if not is_converted(folder):
            convert_trace(folder)
        made = make_script(folder, folder.path / "replay.script")
    fabrics = [complete(fabric, read_host()) for fabric in fabrics]
    nodes = asked.nodes or max(fewest_nodes(fabric, made.ranks) for fabric in fabrics)
    if made.ranks % nodes:
        raise StudyError(
            f"the application had {made.ranks} ranks, which {nodes} nodes cannot share equally",
            f"give a divisor of {made.ranks}: --nodes {divisor_from(made.ranks, nodes)}",
        )
    # a name for each thing asked, so that each has a run of its own
    own = re.sub(r"[^A-Za-z0-9._-]", "-", folder.path.name).lstrip("._-")[:50] or "trace"
    each, mark = made.ranks // nodes, "" if asked == Asked(asked.nodes) else f"-{zlib.crc32(repr(asked).encode()):08x}"
    study = folder.path / f"replay-{nodes}x{each}{mark}.toml"
    grade, because = inherited_confidence(folder, fabrics)
    shared = any(each > (fabric.node.cores or each) for fabric in fabrics)  # which --nodes asks for
    write_atomic(study, text_of(f"{own}-{nodes}x{each}{mark}", made, nodes, asked, shared, grade, because).encode())
    return study, made


def fewest_nodes(fabric: Fabric, ranks: int) -> int:
    """The fewest nodes that hold the ranks equally, one a core. Raises StudyError: the fabric has too few."""
    cores = fabric.node.cores or 1
    if (nodes := divisor_from(ranks, -(-ranks // cores))) > len(fabric.hosts):
        raise StudyError(
            f"{fabric.name} has {plural(len(fabric.hosts), 'node')} of {plural(cores, 'core')}, and the application "
            f"had {plural(ranks, 'rank')}: an equal share of one rank a core needs {plural(nodes, 'node')}",
            "give a larger fabric, or share cores: "
            f"--nodes {max(n for n in range(1, len(fabric.hosts) + 1) if ranks % n == 0)}",
        )
    return nodes


def factor_of(compute: str, nodes: int | None) -> float:
    """The multiple in ``x0.5``; StudyError if it is none from 0 to 1000, or ``nodes`` is below 1."""
    try:
        factor = float(compute.removeprefix("x"))
    except ValueError:
        factor = -1.0
    if not 0 <= factor <= 1000:
        raise StudyError(f"--compute {compute} is no multiple from 0 to 1000", "half the time between calls: x0.5")
    played = round(factor, 3)  # kernels are given thousandths
    if factor > 0 and not played:
        raise StudyError(
            f"--compute {compute} is less than replays can play, a thousandth", "leave out the time between calls: x0"
        )
    if nodes is not None and nodes < 1:
        raise StudyError(f"--nodes {nodes} is no number of nodes", "give one from 1 on")
    return played


def divisor_from(number: int, least: int) -> int:
    """The smallest divisor of a number that is not below ``least``; the number itself beyond it."""
    return next((each for each in range(max(least, 1), number) if number % each == 0), number)


def is_traced_machine(folder: TraceFolder, fabric: Fabric) -> bool:
    """Whether the trace was taken on nodes of this fabric, by their names."""
    hosts = {row["host"] for row in TRACE_RANKS.read(folder.path)}
    return bool(hosts) and hosts <= set(fabric.hosts)


def inherited_confidence(folder: TraceFolder, fabrics: Sequence[Fabric]) -> tuple[Grade, str]:
    """The best confidence of a replay, and why it is below A: the trace's doubts, or, at best B, another machine."""
    rows = TRACE_RANKS.read(folder.path)
    doubts = trace_doubts(rows)
    grade, because = grade_of(doubts), f"the trace: {say(doubt_claim(doubts[0])).value}" if doubts else ""
    if grade == "A" and not all(is_traced_machine(folder, fabric) for fabric in fabrics):
        hosts = sorted({row["host"] for row in rows})
        return "B", f"time between calls as traced on {plural(len(hosts), 'node')} ({hosts[0]}), another machine"
    return grade, because


def text_of(name: str, made: Made, nodes: int, asked: Asked, shared: bool, confidence: Grade, because: str) -> str:
    """The study file; ``shared``: ranks share cores."""
    oversubscribe = "\noversubscribe = true" if shared else ""
    return f"""# Written by weft replay from the trace beside it.
name = {json.dumps(name)}
kernel = "replay"

[replay]
script = {json.dumps(made.path.name)}
compute = {asked.compute!r}
algorithm = {json.dumps(asked.alltoall)}
confidence = {json.dumps(confidence)}
because = {json.dumps(because[:400])}

[placement]
nodes = {json.dumps(asked.place)}{oversubscribe}

[[series]]
name = "replay"
nodes = [{nodes}]
ranks_per_node = {made.ranks // nodes}
"""


def introduction(made: Made) -> list[str]:
    """What was traced, and what is not replayed of it: some lines."""
    calls = ", ".join(f"{name} ({number:,})" for name, number in sorted(made.left_out.items()))
    return [
        f"{plural(made.ranks, 'rank')}; from the first call to the end of the last {format_seconds(made.traced_s)}, of "
        f"which {format_seconds(made.computed_s)} between calls (mean over the ranks)",
        *([f"not replayed: {calls}"] if calls else []),
    ]
