# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft watch``: one night's run of a study on free nodes in turn, added to the history of the nights. No
daemon: cron, or a job in a reservation, starts each night. The history is a file beside the runs: old ones may go.
"""

import os
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ValidationError

from weft.analyse.compare.sides import side_of
from weft.analyse.tables.claims import claims_of
from weft.errors import DataError, StudyError
from weft.fabric import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.nodeset import fold
from weft.files.atomic import file_errors, own_handle, write_atomic
from weft.files.beneath import read_plain
from weft.files.lock import try_flock
from weft.files.section import put
from weft.format import plural
from weft.host import read
from weft.launch.launcher import Launcher
from weft.launch.site import free_nodes
from weft.plan.records import shapes
from weft.report import method
from weft.report.view import load_view
from weft.run.one import run_study
from weft.run.progress import Progress
from weft.run.refresh import reading
from weft.run.shipped import study_of
from weft.study import Study
from weft.units import parse_seconds
from weft.words.comparisons import name_place

HISTORY = "nights.json"
SAME_NIGHT = 0.75  # share of the period after which the next night is due: cron starts some seconds early or late
FACTS = ("MPI library", "MPI standard", "Processor", "Kernel sources", "Binding obtained")
ADAPTERS = Path("/sys/class/infiniband")
SLOW = ("outlier.", "check.not-healthy", "check.also")  # claims of them name what was slow


class Night(BaseModel, frozen=True, extra="forbid"):
    """What is kept of a night."""

    begun: str  # ISO time
    run: str  # the name of the run's folder
    hosts: tuple[str, ...]  # nodes that it measured
    seconds: dict[str, float]  # median of each warm row, by its name
    slow: tuple[str, ...] = ()
    facts: dict[str, str] = {}

    @property
    def at(self) -> datetime:
        """When it was begun."""
        return datetime.fromisoformat(self.begun)


class History(BaseModel, frozen=True, extra="forbid"):
    """All nights of a study on a fabric, oldest first; ``precision`` is what the study asked for."""

    study: str
    fabric: str
    precision: float
    nights: tuple[Night, ...] = ()


@dataclass(frozen=True)
class Watch:
    """A study that is measured every ``every_s`` seconds for ``time`` (``5min``), and the folder of its nights."""

    study: Study
    fabric: Fabric
    folder: Path
    every_s: float
    time: str

    @property
    def nodes(self) -> int:
        """Nodes of a night: the most that the study asks for. Raises StudyError: All of the fabric's are asked for."""
        return max(shape.nodes for series in self.study.series for shape in shapes(series, self.fabric))

    @property
    def round(self) -> int:
        """Nights within which every node and every leaf is visited, if all nodes are free."""
        return -(-len(self.fabric.hosts) // self.nodes)


def make_watch(study: Study, fabric: Fabric, every: str, time: str, into: Path | None) -> Watch:
    """What is watched; StudyError if a time is none."""
    try:
        days = every.removesuffix("d").strip()
        every_s = 86400.0 * float(days) if days != every and days.isdecimal() else parse_seconds(every)
        _ = parse_seconds(time)
    except ValueError as problem:
        raise StudyError(f"weft watch: {problem}", "give --every 1d and --time 5min") from None
    return Watch(study, fabric, into or Path("runs") / f"watch-{study.name}-on-{fabric.name}", every_s, time)


@contextmanager
def one_at_a_time(watch: Watch) -> Generator[None]:
    """Hold the folder of the nights, made where it is not there; DataError if another Weft has it."""
    with file_errors(watch.folder):
        watch.folder.mkdir(parents=True, exist_ok=True)
        handle = own_handle(watch.folder / "lock", os.O_RDWR | os.O_CREAT)
    try:
        if try_flock(handle) is False:
            raise DataError(f"{watch.folder} is in use by another weft", "a night of it runs now: wait for its end")
        yield
    finally:
        os.close(handle)


def read_history(watch: Watch) -> History:
    """The nights so far. Raises DataError: The file cannot be read, or is of another study or fabric."""
    path, study, fabric = watch.folder / HISTORY, watch.study.name, watch.fabric.name
    if not path.exists():
        return History(study=study, fabric=fabric, precision=watch.study.measure.precision)
    remedy = f"choose another folder with --into DIR, or move this file away: {path}"
    try:
        with file_errors(path):
            found = History.model_validate_json(read_plain(path))
    except ValidationError as problem:
        raise DataError(f"{path}: no history of nights: {problem.errors()[0]['msg']}", remedy) from None
    if (found.study, found.fabric) != (study, fabric):
        raise DataError(f"{path} is the history of {found.study} on {found.fabric}", remedy)
    return found


def next_night(watch: Watch, history: History) -> datetime | None:
    """When the next night is due; None for at any time."""
    return history.nights[-1].at + timedelta(seconds=SAME_NIGHT * watch.every_s) if history.nights else None


def choose_nodes(watch: Watch, history: History, free: Sequence[str]) -> list[str]:
    """The free nodes not visited for longest, over the leaves not visited for longest; StudyError if too few are."""
    if len(free) < watch.nodes:
        raise StudyError(
            f"{len(free)} of {plural(len(watch.fabric.hosts), 'node')} free: {watch.study.name} asks for {watch.nodes}",
            "the next night tries again; a study of fewer nodes needs fewer free ones",
        )
    last = {host: number for number, night in enumerate(history.nights) for host in night.hosts}
    network = build_network(watch.fabric) if watch.fabric.network else None
    leaf_of = dict(zip(network.hosts, network.leaf.tolist(), strict=True)) if network else {}
    of_leaf = {leaf_of.get(host, 0): number for host, number in sorted(last.items(), key=lambda each: each[1])}
    order = {host: place for place, host in enumerate(watch.fabric.hosts)}
    chosen: list[str] = []
    taken = Counter[int]()

    def turn(host: str) -> tuple[int, int, int, int]:
        leaf = leaf_of.get(host, 0)
        return last.get(host, -1), taken[leaf], of_leaf.get(leaf, -1), order[host]

    while len(chosen) < watch.nodes:
        chosen.append(min((host for host in free if host not in chosen), key=turn))
        taken[leaf_of.get(chosen[-1], 0)] += 1
    return sorted(chosen, key=order.__getitem__)


def run_night(watch: Watch, launcher: Launcher, progress: Progress, now: datetime | None = None) -> History:
    """Measure one night, and add it to the history; StudyError if too few nodes are free, LaunchError, DataError."""
    now, history = now or datetime.now(UTC), read_history(watch)
    hosts = choose_nodes(watch, history, free_nodes(watch.fabric)) if watch.fabric.hosts else []
    folder = watch.folder / f"night-{now:%Y%m%d-%H%M%S}"
    lines = watch.study.text.splitlines()
    if hosts:
        progress.say(f"{fold(hosts)}, in {folder}; every node is visited within {plural(watch.round, 'night')}")
        put(lines, "placement", "nodes", f'"{fold(hosts)}"')
    if not watch.fabric.is_model:
        put(lines, "measure", "time", f'"{watch.time}"')
    run_study(study_of(lines, watch.study.path), watch.fabric, folder, launcher, progress)
    night = _night(folder, hosts or [os.uname().nodename], now)
    history = history.model_copy(update={"nights": (*history.nights, night)})
    write_atomic(watch.folder / HISTORY, history.model_dump_json(indent=1).encode())
    return history


def _night(folder: Path, hosts: Sequence[str], now: datetime) -> Night:
    with reading(folder):
        view = load_view(folder)
        side = side_of(folder, view.plan, folder.name, view.mpi)
        points = [(key, point) for key, point in side.points.items() if key.phase == "warm" and point.medians]
        answers = claims_of(view.claims, "answer")
        known = dict(method.provenance(view))
    # of the host that starts the nights
    firmware = {f"Firmware of {path.parent.name}": read(path).strip() for path in sorted(ADAPTERS.glob("*/fw_ver"))}
    known |= {"Linux": os.uname().release} | {name: text for name, text in firmware.items() if text}
    return Night(
        begun=now.isoformat(timespec="seconds"), run=folder.name, hosts=tuple(hosts),
        seconds={name_place(key): point.median_s for key, point in points},
        slow=tuple(claim["subject"] for claim in answers if claim["id"].startswith(SLOW)),
        facts={name: known[name] for name in (*FACTS, "Linux", *firmware) if name in known},
    )  # fmt: skip
