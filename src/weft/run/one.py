# SPDX-License-Identifier: BSD-3-Clause
"""One study on one fabric, from its files to its tables; started again, it continues where it stopped."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from weft import __version__
from weft.errors import DataError
from weft.fabric import Fabric
from weft.files.atomic import file_errors, read_json
from weft.files.beneath import read_plain
from weft.launch.launcher import Launcher
from weft.launch.site import with_best_nodes
from weft.plan.make import make_plan
from weft.plan.records import Plan
from weft.plan.stored import HASH, hash_of, plan_of
from weft.run.extend import can_extend, check_inputs, copy_inputs, extend
from weft.run.failure import RETRIED
from weft.run.folder import RUNS, check_place, create, locked
from weft.run.progress import Progress
from weft.run.refresh import make_tables, stale
from weft.run.walk import AfterRound, Walk, pending
from weft.store.folder import INPUTS, Look, RunFolder, add_look, digests
from weft.study import Study

FAILED = RETRIED | {"invalid"}


def run_study(
    study: Study, fabric: Fabric, into: Path | None, launcher: Launcher, progress: Progress | None = None, *,
    more: bool = False, seen: Look | None = None, tables: bool = True, plan: Plan | None = None, shows: bool = False,
    deadline: Callable[[RunFolder, Plan], AfterRound] | None = None,
) -> RunFolder:  # fmt: skip
    """Measure what is unfinished of a study, in ``into`` or below ``runs/``; DataError, LaunchError."""
    progress = progress or Progress()
    folder = RunFolder(into) if into else choose_folder(study, fabric, progress, more=more)
    check_place(folder)
    with locked(folder, say=progress.say):
        if more and folder.meta.is_file() and can_extend(folder, study, fabric):
            extend(folder, study)
            progress.say(f"adding launches to {folder.path}, up to {study.measure.launches}")
        if folder.meta.is_file():
            plan = resume(folder, study, fabric, launcher)
        else:
            plan = plan or plan_study(study, fabric, lambda: library_of(launcher))
            begin(folder, study, fabric, launcher, plan)
        if (left := pending(folder, plan)) and seen is not None:
            add_look(folder.path, seen)
        after = deadline(folder, plan) if deadline else None
        if refines := tables and bool(plan.measure.time) and not plan.is_model:
            from weft.run.refine import Refinement  # reads tables: measuring alone needs none of their libraries

            after = Refinement(folder, plan, progress if shows else None)
        Walk(folder, plan, launcher, progress, after).go()
        if tables and (not refines or stale(folder)):
            if left:
                what = "tables" if deadline else "tables and the page"
                progress.say(f"making the {what}: some seconds, longer after many cells")
            make_tables(folder)
    return folder


def plan_study(study: Study, fabric: Fabric, find_library: Callable[[], str] = str) -> Plan:
    """Plan a study with its best nodes; ``find_library`` is asked if it tries algorithms. StudyError, FabricError."""
    notes: list[str] = []
    placed, known = with_best_nodes(study, fabric, notes)
    return make_plan(placed, known, library=find_library, notes=notes)


def library_of(launcher: Launcher) -> str:
    """Version string of the MPI library that a launcher starts; empty if it does not say."""
    return str(launcher.provenance().get("mpi_library", ""))


def begin(folder: RunFolder, study: Study, fabric: Fabric, launcher: Launcher, plan: Plan) -> None:
    """Write the files of a run into its folder."""
    meta = {
        "weft": __version__, "commit": commit(Path(__file__).resolve().parents[3]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"), "study": study.name, "fabric": fabric.name,
        "fabric_kind": fabric.kind, "seed": plan.seed, "launcher": launcher.provenance(),
    }  # fmt: skip
    text = plan.model_dump_json(indent=1).encode()
    copy_inputs(folder, plan)
    create(
        folder, study.text.encode(), fabric.text.encode(), text, meta | {HASH: hash_of(text), INPUTS: digests(folder)}
    )


def resume(folder: RunFolder, study: Study, fabric: Fabric, launcher: Launcher) -> Plan:
    """The stored plan, after checking that the run is of this study, fabric and MPI; else DataError. It is never made
    again: today's free memory, or another seed, would change the cells of a half-finished run.
    """
    RunFolder.open(folder.path)
    for stored, given, what in ((folder.study, study, "study"), (folder.fabric, fabric, "fabric")):
        with file_errors(stored):
            text = read_plain(stored)
        if text != given.text.encode():
            other = f"{folder.path} holds a run of another {what}: {first_difference(text, given.text.encode())}"
            raise DataError(other, f"choose another folder with --into DIR, or use that {what}: {stored}")
    before, now = folder.metadata().get("launcher", {}), launcher.provenance()
    if "mpi_library" in before and before["mpi_library"] != now.get("mpi_library"):
        raise DataError(
            f"{folder.path} was started with {before.get('mpi')} ({before.get('mpicxx')}), this is {now.get('mpi')}: "
            "one run cannot mix them",
            f"continue with --mpicxx {before.get('mpicxx')}, or choose another folder with --into DIR",
        )
    plan = plan_of(folder)
    check_inputs(folder, plan)
    begun, here = (
        f"weft {version} with kernels {launcher.get('kernels', 'unknown')}"
        for version, launcher in ((folder.metadata().get("weft", "unknown"), before), (__version__, now))
    )
    if begun != here and pending(folder, plan):
        raise DataError(
            f"{folder.path} was begun with {begun}, this is {here}: one run cannot mix them", folder.measure_anew()
        )
    return plan


IsLeft = Callable[[RunFolder], bool]


def choose_folder(
    study: Study, fabric: Fabric, progress: Progress, unfinished: IsLeft = lambda _: False, *, more: bool = False
) -> RunFolder:
    """The folder ``runs/STUDY-on-FABRIC``, or a numbered one, that is free, unfinished, or (``more``) to extend."""
    for path in candidates(RUNS / f"{study.name}-on-{fabric.name}"):
        folder = RunFolder(path)
        if not path.exists() or not folder.meta.is_file():
            progress.say(f"a new run: {path}")
            return folder
        if is_same_run(folder, study, fabric) and (pending(folder, plan_of(folder)) or unfinished(folder)):
            progress.say(f"continuing {path}")
            return folder
        if more and can_extend(folder, study, fabric):
            return folder
    raise AssertionError("candidates never end")


def candidates(first: Path) -> Iterator[Path]:
    """Names of run folders: the plain one, then numbered ones."""
    yield first
    for number in count(2):
        yield first.with_name(f"{first.name}-{number}")


def is_same_run(folder: RunFolder, study: Study, fabric: Fabric) -> bool:
    """Whether a folder has a readable run of exactly this study and fabric."""
    try:
        RunFolder.open(folder.path)
        plan_of(folder)
        return read_plain(folder.study) == study.text.encode() and read_plain(folder.fabric) == fabric.text.encode()
    except (DataError, OSError):
        return False


def first_difference(stored: bytes, given: bytes) -> str:
    """Return the first lines in which two files differ, in words."""
    old, new = (text.decode(errors="replace").splitlines() for text in (stored, given))
    changes = [line for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[:3] not in ("---", "+++")]
    was = next((line[1:].strip() for line in changes if line.startswith("-")), "(nothing)")
    now = next((line[1:].strip() for line in changes if line.startswith("+")), "(nothing)")
    return f"there {was!r}, now {now!r}"


def statuses(folder: RunFolder) -> Counter[str]:
    """Count the cells of a run by status: a cell counts once per launch, an impossible one once."""
    plan = plan_of(folder)
    counts: Counter[str] = Counter(cell.status for cell in plan.cells if cell.status != "planned")
    for launch in plan.launches:
        for cell in launch.cells:
            record = folder.cell_record(cell, launch.index)
            counts[str(read_json(record).get("status")) if record.exists() else "missing"] += 1
    return counts


def exit_code(counts: Counter[str]) -> int:
    """Return 1 if any cell is invalid, hung, crashed or never started, else 0."""
    return 1 if any(counts[status] for status in (*FAILED, "missing")) else 0


def commit(checkout: Path) -> str:
    """Commit of a checkout of Weft; empty for an installed package."""
    git = checkout / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text().strip()
        packed = (line.split() for line in (git / "packed-refs").read_text().splitlines())
        return next((words[0] for words in packed if words[1:] == [name]), "")
    except OSError:
        return ""
