# SPDX-License-Identifier: BSD-3-Clause
"""The flat plan "weft-plan 2" that the C++ kernels read: lines of a key and its value. Nobody else writes it. A value
is a plain word, words with a space between them, or a text in quotes, in which ``\\"`` and ``\\\\`` stand for
themselves and ``\\xHH`` for a byte; nothing else is special. Comments are lines that begin with ``#``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from weft.errors import DataError
from weft.kernel import FlatValue, Kernel
from weft.kernel.jobs import team_values
from weft.kernel.registry import kernel_named
from weft.plan.records import LaunchCell, LaunchPlan, Plan
from weft.store.folder import RunFolder
from weft.study import Measure

VERSION = "2"


@dataclass(frozen=True)
class Rules:
    """How the ranks of a launcher take and write samples, overriding the study. None keeps the study's setting."""

    io: Literal["mpi", "posix"] | None = None
    start: Literal["barrier", "mpi-barrier", "window"] | None = None
    samples: int | None = None
    watchdog: bool = True


STUDYS = Rules()  # the study's own
BESIDE = 4  # copies in the launch of a cell
PLAIN = re.compile(r"[A-Za-z0-9_.,:/+-]+")


@dataclass(frozen=True)
class FlatHead:
    """The head of a flat plan: its launch."""

    launch: str
    index: int  # k, counted from 1
    folder: Path  # the run folder
    run: str = ""  # the run's id, which every record repeats
    seed: int = 1
    memory_limit_bytes: int = 0  # a node's limit that the kernel cannot read itself; 0 for none
    settings_of: str = ""  # the launch whose record has the library's settings; "" for this one


def flat_plan(
    plan: Plan, launch: LaunchPlan, folder: Path | str = ".", *, run: str = "", rules: Rules = STUDYS,
    cells: Sequence[str] | None = None, settings_of: str = "",
) -> str:  # fmt: skip
    """The kernel's input for one launch of a plan. Raises DataError: a path that is no UTF-8."""
    inputs = RunFolder(Path(folder)).inputs
    chosen = [with_copies(plan.cell(name).requested, inputs) for name in (launch.cells if cells is None else cells)]
    head = FlatHead(launch.id, launch.index, Path(folder), run, plan.seed, plan.memory_limit_bytes, settings_of)
    return flat_launch(head, chosen, plan.measure, rules, {cell.id: copies_beside(plan, cell) for cell in chosen})


def copies_beside(plan: Plan, asked: LaunchCell) -> list[int]:
    """Sizes of its floor's copies, bytes per rank, ascending, that a cell measures too: the last few; or none."""
    cell = plan.cell(asked.id)
    kernel = kernel_named(cell.kernel)
    shape = (cell.nodes, cell.ranks_per_node)
    floor = next((each for each in plan.floors if (each.nodes, each.ranks_per_node) == shape), None)
    if floor is None or "copies" not in floor.parameters or not budgets_beside(kernel, cell.parameters):
        return []
    copies, traffics = floor.parameters["copies"], kernel.traffic(asked.parameters, cell.ranks).values()
    most = max([min(copies), *(each.staying(*shape) // cell.ranks_per_node for each in traffics)])
    return [size for size in copies if size <= most][-BESIDE:]


def budgets_beside(kernel: Kernel, values: Mapping[str, Any]) -> int:
    """Operations' budgets for the copies and small messages beside a cell: `BESIDE` warm-ups of a fifth; or 0."""
    return 0 if kernel.is_floor or not kernel.collectives(values) else -(-(BESIDE + 2) // 5)


def with_copies(cell: LaunchCell, copies: Path) -> LaunchCell:
    """The cell with the run's own copies of the files it names, where the run has them."""
    names = kernel_named(cell.kernel).inputs_of(cell.parameters)
    kept = {key: copies / Path(str(cell.parameters[key])).name for key in names}
    own = {key: str(copy.resolve()) for key, copy in kept.items() if copy.is_file()}
    return replace(cell, parameters={**cell.parameters, **own}) if own else cell


def flat_launch(
    head: FlatHead, cells: Sequence[LaunchCell], measure: Measure, rules: Rules = STUDYS,
    beside: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> str:  # fmt: skip
    """The kernel's input for one launch; ``beside``: the copies of its cells by id. DataError if no UTF-8."""
    samples, watched = rules.samples, max((cell.limit_s for cell in cells), default=0.0)
    keys: dict[str, FlatValue] = {
        "launch": head.launch, "launch_index": head.index, "run": head.run, "seed": head.seed,
        "folder": str(head.folder.resolve()), "io": rules.io or measure.io, "start": rules.start or measure.start,
        "precision": repr(measure.precision), "min_samples": measure.min_samples if samples is None else samples,
        "max_samples": measure.max_samples if samples is None else samples,
        "warmup_most": measure.warmup_most if samples is None else 0, "budget_ns": round(measure.budget * 1e9),
        "limit_ns": round(watched * 1e9) if rules.watchdog else 0, "memory_limit_bytes": head.memory_limit_bytes,
    }  # fmt: skip
    if head.settings_of:
        keys["settings_of"] = head.settings_of
    copies = {cell.id: {"copies": [str(size) for size in beside[cell.id]]} for cell in cells if beside.get(cell.id)}
    return write_flat(keys, [flat_cell(cell, samples) | copies.get(cell.id, {}) for cell in cells])


def flat_cell(cell: LaunchCell, samples: int | None) -> dict[str, FlatValue]:
    """The keys of one cell, with ``samples`` if times repeat exactly; DataError for bad parameters."""
    keys: dict[str, FlatValue] = {"cell": cell.id, "kernel": cell.kernel, "hash": cell.hash}
    kernel = kernel_named(cell.kernel)
    try:
        keys |= team_values(cell.parameters) | kernel.flat(cell.parameters)
        cases = kernel.cases(cell.parameters, cell.ranks)  # where times repeat exactly: a sample of each different call
        return keys | ({"cases": max(cases, samples)} if samples is not None and cases > 1 else {})
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"cell {cell.id} of the plan cannot be measured by this version of Weft: its parameters lack "
            f"or spoil {error}",
            "continue with the version that made it (weft.json names it), or measure again with --into DIR",
        ) from error


def write_flat(head: Mapping[str, FlatValue], cells: Sequence[Mapping[str, FlatValue]]) -> str:
    """Write a flat plan: its head's keys, then those of each cell, ``cell`` first; DataError if no UTF-8."""
    lines = [f"weft-plan {VERSION}", *(f"{key} {write_value(value)}" for key, value in head.items())]
    for cell in cells:
        lines += [*(f"{key} {write_value(value)}" for key, value in cell.items()), "end"]
    return "\n".join(lines) + "\n"


def write_value(value: FlatValue) -> str:
    """A value as text of the plan; DataError for a word with other than the allowed characters."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) else quoted(value)
    words = [str(word) for word in value]
    strange = next((word for word in words if not PLAIN.fullmatch(word)), None)
    if strange is not None:
        what = f"the word {strange!r} cannot be written into a flat plan"
        raise DataError(what, "words are letters, digits and _.,:/+-")
    return " ".join(words)


def quoted(text: str) -> str:
    """A text in quotes, with escapes; DataError if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        what = f"{text!r} is not UTF-8"
        raise DataError(what, "rename the file or folder, or choose another place with --into DIR") from None
    text = re.sub(r'["\\]', r"\\\g<0>", text)
    as_bytes = {char: "".join(f"\\x{byte:02x}" for byte in char.encode()) for char in text if not char.isprintable()}
    return f'"{text.translate(str.maketrans(as_bytes))}"'
