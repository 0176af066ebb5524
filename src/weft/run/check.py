# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft check``: a run of studies/check.toml, a second pass over what it finds, and what follows."""

import re
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from weft.analyse.claims.kernels.pairs import is_shown_by, slow_nodes
from weft.analyse.claims.nodes import list_slow_hosts
from weft.analyse.outliers.matched import find_outliers, matched_rounds, read_passes, read_ranks
from weft.analyse.pairs.places import locate_ranks
from weft.analyse.tables.claims import CLAIMS, claims_of
from weft.errors import DataError, PathError, StudyError
from weft.fabric import Fabric
from weft.fabric.nodeset import fold
from weft.files.atomic import file_errors, read_json, write_atomic
from weft.files.beneath import read_plain
from weft.files.section import put
from weft.format import plural
from weft.launch.batch.schedulers import allocated_nodes
from weft.launch.launcher import Launcher
from weft.plan.records import Cell, Plan
from weft.plan.stored import plan_of
from weft.plan.trials import CHECK_SHARE
from weft.run.extend import begin_within, plan_within
from weft.run.folder import locked
from weft.run.load import look_once
from weft.run.one import choose_folder, plan_study, run_study
from weft.run.progress import Progress
from weft.run.refresh import make_tables, reading
from weft.run.shipped import ShippedStudy, study_of
from weft.run.walk import Walk, pending
from weft.store.folder import RunFolder
from weft.study import Study
from weft.units import parse_seconds

ROUNDS, SEED = 8, 27  # rounds of the second pass, and the seed that draws them
MOST_AIMS = 16  # parts that the second pass aims at: the strongest first
KIND = re.compile("^(node|sender|receiver|switch|cable|link) ")
#: The second pass has what the first leaves, less its start and the tables: seconds of a processor, and for each node.
TABLES_S, TABLES_NODE_S = 2.5, 0.002
LEAST_ROUNDS, LEAST_BUDGET_S = 3, 0.001  # rounds of the second pass in any case, and the least time of one at one size
MOST_SLOWER = 6.0  # a host lets this process compute for at least one in so many seconds: others waited for a disk
LARGE, LEAST, MESSAGES = 2**20, 2**16, 64  # bytes of the large message, and the fewest; messages of a round, at least
PART = 60 * 2**10  # its parts over TCP: Open MPI asks before it sends over 64 KiB, and the answer waits behind data
UNKNOWN = 1
#: Exit codes of answers of a check or an audit; others could not tell.
EXIT_CODES = {"check.healthy": 0, "check.not-healthy": 3, "audit.consistent": 0, "audit.violated": 3}


@dataclass(frozen=True)
class Asked:
    """What to check."""

    nodes: str = ""  # a node set; empty for those of the allocation that this process is in, or all of the fabric
    time: str = "30s"  # of the whole check: ``30s``
    ranks_per_node: str = "1"  # a number, ``socket`` or ``adapter``


def check_study(fabric: Fabric, asked: Asked) -> Study:
    """The study of a check, studies/check.toml for these nodes and this time; StudyError for what is not allowed."""
    known = {"socket": fabric.node.sockets, "adapter": fabric.network.rails if fabric.network else None}
    if known.get(asked.ranks_per_node, 1) is None:
        why = f"--ranks-per-node {asked.ranks_per_node}: {fabric.name} does not state its number"
        raise StudyError(why, "write a number: --ranks-per-node 1")
    words = {word: str(number) for word, number in known.items()}
    own = ShippedStudy("check", asked.nodes, asked.time, asked.ranks_per_node, fabric.hosts, words,
                       lambda: fold(allocated_nodes(fabric.kind, set(fabric.hosts))))  # fmt: skip
    if len(own.hosts) < 2:
        what = f"a check compares nodes, and {fabric.name} has {plural(max(len(own.hosts), 1), 'node')} to check"
        raise StudyError(what, "weft check --on FABRIC, with at least two nodes; weft list fabrics")
    section = own.tree["pairs"]
    # rounds are divided where pairs would share a cable, or few nodes have fewer partners
    rounds = len(matched_rounds(plan_study(own.study(), fabric, str))) or section["matchings"]
    budget_s = max(CHECK_SHARE * own.time_s / (len(section["bytes"]) * rounds), LEAST_BUDGET_S)
    put(own.lines, "measure", "budget", f'"{budget_s:.3g} s"')
    # fewer bytes on adapters so slow that few large messages fit into the budget
    rate, size = fabric.network.adapter_rate if fabric.network else None, LARGE
    while rate and size > LEAST and MESSAGES * size > rate * budget_s:
        size //= 2
    put(own.lines, "pairs", "bytes", f'["8 B", "{size} B"]')
    if fabric.implied.is_over_tcp:
        put(own.lines, "pairs", "part", f'"{PART} B"')
    return own.study()


def run_check(
    fabric: Fabric, asked: Asked, launcher: Launcher, progress: Progress, into: Path | None = None, *,
    spent_s: float = 0.0, exclude: Path | None = None,
) -> RunFolder:  # fmt: skip
    """Check the nodes of a fabric, and write the run's tables; ``spent_s`` of the asked time are over. ``exclude``, the
    file of slow nodes, is removed first, and written last if the check could tell. StudyError as of
    :func:`check_study`, PathError if ``exclude`` cannot be written, DataError for the folder, LaunchError of the start.
    """
    began = time.monotonic() - spent_s
    study = check_study(fabric, asked)
    if exclude is not None:
        clear_exclude(exclude)
    ends = began + parse_seconds(asked.time)
    # a run whose cells are measured may have ended before its tables were made
    into = into or choose_folder(study, fabric, progress, lambda run: not CLAIMS.path(run.path).is_file()).path
    plan = None if RunFolder(into).meta.is_file() else plan_study(study, fabric, str)
    seen = look_once(progress.say) if fabric.runs_here else None
    folder = run_study(study, fabric, into, launcher, progress, seen=seen, tables=False, plan=plan)
    with locked(folder, say=progress.say):
        wall_s, own_s = time.monotonic(), time.process_time()
        aims = find_candidates(folder)
        later_s = tables_s(plan_of(folder), time.monotonic() - wall_s, time.process_time() - own_s)
        if aims is not None:
            about = ", ".join(aims[:3]) or "slow messages"
            progress.say(f"a second pass decides about {about}{' ...' if len(aims) > 3 else ''}")
            measure_again(folder, fabric, aims, launcher, progress, ends - time.monotonic() - later_s)
        make_tables(folder)
    if exclude is not None and exit_code(folder) != UNKNOWN:
        write_exclude(folder, exclude)
    return folder


def find_candidates(folder: RunFolder) -> list[str] | None:
    """Parts that a check's first pass finds slow, or may have found; None if nothing. Nodes, and where routes are known
    switches and cables: a round cannot aim at others. A host that reports itself slow needs no second pass.
    """
    plan = plan_of(folder)
    passes = read_passes(folder.path, plan)
    if not passes:
        return None
    places = locate_ranks(read_ranks(folder.path), plan)
    hosts = list_slow_hosts(_first_record(folder, plan)[1].get("nodes", []))
    found = [each for each in find_outliers(passes[:1], places) if not is_shown_by(each.name, each.also, hosts)]
    if not found:
        return None
    # with those beside them, as ``aim`` of a study names them
    aims = dict.fromkeys(name for each in found for name in (each.name, *(KIND.sub("", also) for also in each.also)))
    return [name for name in aims if places.routed or name in places.nodes][:MOST_AIMS]


def _first_record(folder: RunFolder, plan: Plan) -> tuple[Cell, dict[str, Any]]:
    """The cell of the first pass, and its record, in which are the reports of its nodes."""
    cell = next(cell for cell in plan.measured if "matchings" in cell.parameters)
    return cell, read_json(folder.cell_record(cell.id, 1))


def measure_again(
    folder: RunFolder, fabric: Fabric, aims: Sequence[str], launcher: Launcher, progress: Progress, left_s: float
) -> None:
    """Rounds of ``left_s`` that aim at some parts, in a folder of a run, whose lock the caller holds; DataError."""
    inner = RunFolder(folder.again)
    plan = plan_within(folder, inner)
    if plan is None:
        study = plan_second(folder, fabric, aims, left_s)
        plan = plan_study(study, fabric, str)
        begin_within(folder, inner, plan, study.text.encode())
    with locked(inner):
        if pending(inner, plan):
            Walk(inner, plan, launcher, progress).go()


def plan_second(folder: RunFolder, fabric: Fabric, aims: Sequence[str], left_s: float) -> Study:
    """The study of the second pass: rounds that aim at some parts, in the time that is left."""
    plan = plan_of(folder)
    cell, record = _first_record(folder, plan)
    rounds = sum(each["op"].startswith("partner.") for each in record["segments"])
    measured_s = max((each["wall_ns"] for each in record.get("nodes", ())), default=record["wall_ns"]) / 1e9
    free_s = left_s - max(read_json(folder.of(plan.launches[0].id, "outcome.json"))["wall_s"] - measured_s, 0.0)
    a_round_s = max(measured_s / max(rounds, 1), LEAST_BUDGET_S)
    text = read_plain(folder.study).decode()
    # rounds that aim are divided into more parts than those of the first pass: each then takes less time
    parts = max(len(cell.parameters["pairs"]) / tomllib.loads(text)["pairs"]["matchings"], 1.0)
    matchings = min(max(int(free_s / (parts * a_round_s)), LEAST_ROUNDS), ROUNDS)
    lines = text.splitlines()
    put(lines, "pairs", "aim", "[" + ", ".join(f'"{name}"' for name in aims) + "]")
    put(lines, "pairs", "matchings", str(matchings))
    put(lines, "measure", "seed", str(SEED))
    parts = len(matched_rounds(plan_study(study_of(lines, folder.study), fabric, str))) or matchings
    # the least rounds are measured even if nothing is left: with fewer samples, unless a queue took the time
    least_s = a_round_s / LEAST_ROUNDS if plan.planned_fabric.runs_here else a_round_s
    budget_s = max(free_s / parts, least_s) / len(cell.parameters["bytes"])
    put(lines, "measure", "budget", f'"{budget_s:.3g} s"')
    return study_of(lines, folder.study)


def print_check(folder: RunFolder, format: Literal["text", "json"]) -> None:
    """Print the card of a check or an audit, or all its claims as JSON."""
    with reading(folder.path):
        if format == "text":
            from weft.report.card import print_card  # measuring needs none of its libraries

            print_card(folder.path)
        else:
            from weft.report import tables

            sys.stdout.write(tables.render(tables.load_view(folder.path), format))


def tables_s(plan: Plan, wall_s: float, own_s: float) -> float:
    """Seconds that tables and card take on a host that let this process compute for ``own_s`` in ``wall_s``."""
    slower = min(max(wall_s / max(own_s, 1e-3), 1.0), MOST_SLOWER)
    return (TABLES_S + TABLES_NODE_S * max(cell.nodes for cell in plan.measured)) * slower


def exit_code(folder: RunFolder) -> int:
    """0 where a check or an audit found nothing, 3 where it did, 1 where it could not tell."""
    first = next(iter(claims_of(CLAIMS.read(folder.path), "answer")), None)
    return EXIT_CODES.get(first["id"] if first else "", UNKNOWN)


def clear_exclude(path: Path) -> None:
    """Remove an earlier check's names of slow nodes. Raises PathError: the file cannot be written."""
    try:
        write_atomic(path, b"")
        with file_errors(path):
            path.unlink()
    except DataError as error:
        raise PathError(error.what, "name another: --exclude-file FILE") from error


def write_exclude(folder: RunFolder, path: Path) -> int:
    """Write the names of slow nodes for the scheduler, one a line; returns their number. DataError if impossible."""
    nodes = slow_nodes(CLAIMS.read(folder.path))
    with file_errors(path):
        write_atomic(path, "".join(f"{name}\n" for name in nodes).encode())
    return len(nodes)
