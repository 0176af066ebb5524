# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft tune``: a run of its study, the winners beside the model, and the table."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from weft.errors import StudyError
from weft.fabric import load_fabric
from weft.files.atomic import file_errors, write_atomic
from weft.format import format_bytes, format_seconds
from weft.mpi.alltoall import PMPI
from weft.mpi.selection import SCHEMA, SelectionTable
from weft.report.tabular import Table, terminal
from weft.report.view import RunView, load_view
from weft.run.many import Measuring
from weft.run.one import RUNS
from weft.text import console, plain
from weft.tune.model import Machine
from weft.tune.rules import choices, rules
from weft.tune.show import winners_table
from weft.tune.study import LAUNCHES, SIZES, candidates, ordered, tuning_study
from weft.units import parse_bytes


class Tuning:
    """One fabric and what to measure on it.

    Parameters
    ----------
    on
        A fabric file, or the name of a shipped one.
    nodes, ranks_per_node, sizes, launches
        What to measure; empty or None for the defaults.
    into
        The run folder; None for ``runs/tune-FABRIC``.

    Raises
    ------
    StudyError
        The number of ranks on a node is not known.
    FabricError
        The fabric file has a mistake.
    """

    def __init__(
        self,
        on: str,
        nodes: Sequence[int],
        ranks_per_node: int | None,
        sizes: Sequence[str],
        launches: int | None,
        into: Path | None,
    ) -> None:
        self.on, self.fabric = on, load_fabric(on)
        ranks = ranks_per_node or self.fabric.node.cores
        if ranks is None:
            raise StudyError(f"{self.fabric.path}: node.cores is not stated", "give --ranks-per-node")
        self.nodes = tuple(nodes) or (len(self.fabric.hosts),)
        self.ranks_per_node = ranks
        self.sizes = tuple(sizes) or SIZES
        self.launches = launches or (1 if self.fabric.is_model else LAUNCHES)
        self.into = into or RUNS / f"tune-{self.fabric.name}"

    def predict(self) -> int:
        """Print what the cost model expects of each algorithm. Returns 0.

        Raises
        ------
        FabricError
            The fabric file lacks a number of the model.
        """
        machine = Machine.of(self.fabric)
        names = candidates(self.ranks_per_node)
        rows: list[tuple[str, ...]] = []
        for count in self.nodes:
            for size in map(parse_bytes, self.sizes):
                best = ordered(self.fabric, count, self.ranks_per_node, size)[0]
                times = (machine.seconds(name, count, self.ranks_per_node, size) for name in names)
                rows.append((str(count), format_bytes(size), best, *map(format_seconds, times)))
        table = Table(
            f"Predicted times of MPI_Alltoall on {self.fabric.name}", ("nodes", "block", "best", *names), tuple(rows)
        )
        console(160).print(terminal(table))
        return 0

    def go(self, output: Path, mpicxx: str | None = None) -> int:
        """Measure, or continue; print the winners; write the table. Returns the run's exit code.

        Raises
        ------
        WeftError
            See :func:`weft.run.one.run_study`; or the table cannot be written.
        """
        study = self.into.with_name(f"{self.into.name}.toml")
        text = tuning_study(self.fabric, self.nodes, self.ranks_per_node, self.sizes, self.launches)
        with file_errors(study):
            study.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(study, text.encode())
        code = Measuring(str(study), (self.on,), self.into, mpicxx).go()
        view = load_view(self.into)
        found = choices(view)
        console(160).print(
            terminal(winners_table(view.titled(f"What to take on {self.fabric.name}"), found, self.fabric))
        )
        table = table_of(view)
        table.write(output)
        count = sum(rule.algorithm != PMPI for rule in table.rules)
        sys.stdout.write(plain(f"{count} rules: {output} (weft exec --table {output} -- mpirun ...)\n"))
        return code


def table_of(view: RunView) -> SelectionTable:
    """The selection table of a run, with where its numbers come from."""
    launcher = view.meta.get("launcher", {})
    platform = {"fabric": view.plan.fabric, "mpi": str(launcher.get("mpi_library", "")), "run": str(view.path.name)}
    return SelectionTable(
        schema=SCHEMA,  # pyright: ignore[reportCallIssue]
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        platform=platform | ({"label": view.label} if view.label else {}),
        rules=tuple(rules(choices(view))),
    )
