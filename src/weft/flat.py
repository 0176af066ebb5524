# SPDX-License-Identifier: BSD-3-Clause
"""The flat plan: what the C++ kernels read, lines of a key and its value."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from weft.kernel import kernel_named
from weft.planned import LaunchPlan, Plan
from weft.teams import team_lines


def flat_plan(
    plan: Plan,
    launch: LaunchPlan,
    folder: Path | str = ".",
    *,
    io: Literal["mpi", "posix"] = "mpi",
    cells: Sequence[str] | None = None,
) -> str:
    """The kernel's input for one launch.

    Parameters
    ----------
    folder
        The run folder; written as an absolute path.
    io
        ``posix`` for file systems without MPI-IO, and for the simulator.
    cells
        Ids of the launch's cells that are still to be measured; all by default.
    """
    measure = plan.measure
    chosen = [plan.cell(name) for name in (launch.cells if cells is None else cells)]
    lines = [
        "weft-plan 1",
        f"launch {launch.id}",
        f"launch_index {launch.index}",
        f"seed {plan.seed}",
        f"folder {Path(folder).resolve()}",
        f"io {io}",
        f"start {measure.start}",
        f"precision {measure.precision!r}",
        f"min_samples {measure.min_samples}",
        f"max_samples {measure.max_samples}",
        f"warmup_most {measure.warmup_most}",
        f"budget_ns {round(measure.budget * 1e9)}",
        f"limit_ns {round(max((cell.limit_s for cell in chosen), default=0.0) * 1e9)}",
        f"memory_limit_bytes {plan.memory_limit_bytes}",
    ]
    for cell in chosen:
        keys = [*team_lines(cell.parameters), *kernel_named(cell.kernel).flat(cell.parameters)]
        lines += [f"cell {cell.id}", f"kernel {cell.kernel}", *keys, "end"]
    return "\n".join(lines) + "\n"
