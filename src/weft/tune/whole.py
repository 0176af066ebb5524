# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft tune``: a run of its study, the winners beside the model, and the table."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from weft.analyse.claims.make import find_model_doubt
from weft.errors import DataError, StudyError
from weft.fabric import load_fabric
from weft.fabric.model import complete
from weft.files.atomic import file_errors, write_atomic
from weft.host import read_host
from weft.mpi.alltoall import PMPI, SCHEMA, SelectionTable, read_selection
from weft.report import page
from weft.report.card import print_rows, run_facts
from weft.report.figures.winners import winner_figure
from weft.report.page import Front
from weft.report.tabular import terminal
from weft.report.view import RunView, load_view
from weft.run.folder import RUNS
from weft.run.many import Measuring
from weft.run.refine import write_page
from weft.store.folder import RunFolder
from weft.text import console, plain
from weft.tune.check import check_claims, check_table, checked, probed, probing_study
from weft.tune.model import Machine, MachineFile, Probed, probed_table, read_machine
from weft.tune.rules import Choice, as_winners, choices, rules
from weft.tune.show import columns_of, predicted_table, prediction_errors, published, tuning_claims, winners_table
from weft.tune.study import CALLS, LAUNCHES, SIZES, What, checking_study, tuning_study
from weft.units import parse_bytes
from weft.words.card import Card, card_rows
from weft.words.doubts import model_text

MOST_SKEW = 1000  # of a study


@dataclass(frozen=True)
class Asked:
    """What a command names; empty or None for the defaults."""

    nodes: Sequence[int] = ()
    ranks_per_node: int | None = None
    sizes: Sequence[str] = ()
    launches: int | None = None
    calls: Sequence[str] = ()
    skew: Sequence[float] = ()
    oversubscribe: bool = False


class Tuning:
    """One fabric and what to measure on it.

    `asked`: what to measure; empty parts for the defaults. `into`: the run folder; None for ``runs/tune-FABRIC``.
    `machine`: numbers of the cost model that were probed; those of the fabric file if None. Raises StudyError: a size
    is none, a number is under 1, or the number of ranks on a node is not known. Raises FabricError: the fabric file
    has a mistake.
    """

    def __init__(self, on: str, asked: Asked, into: Path | None, machine: Path | None = None) -> None:
        _refuse_mistakes(asked)
        self.on, self.fabric = on, complete(load_fabric(on), read_host())
        ranks = asked.ranks_per_node or self.fabric.node.cores
        if ranks is None:
            raise StudyError(f"{self.fabric.path}: node.cores is not stated", "give --ranks-per-node")
        self.what = What(
            tuple(asked.nodes) or (len(self.fabric.hosts),),
            ranks,
            tuple(asked.sizes) or SIZES,
            asked.launches or (1 if self.fabric.is_model else LAUNCHES),
            tuple(asked.calls) or CALLS,
            tuple(dict.fromkeys(asked.skew)),
            asked.oversubscribe,
        )
        self.machine = read_machine(machine).machine(self.fabric) if machine else None
        self.into = into or RUNS / f"tune-{self.fabric.name}"

    def probe(self, output: Path, mpicxx: str | None = None) -> int:
        """Measure, print and write the cost model's numbers; the exit code. WeftError, also if the run is too noisy."""
        code, view, found = self.measure_probe(mpicxx)
        MachineFile.of(found, self.fabric.name, view.path.name).write(output)
        sys.stdout.write(plain(f"{output} (weft tune --machine {output} --predict)\n"))
        return code

    def measure_probe(self, mpicxx: str | None = None) -> tuple[int, RunView, Probed]:
        """Measure, or continue, and print the cost model's numbers: the run's exit code, the run, and the numbers."""
        folder = self.into.with_name(f"{self.into.name}-probe")
        code, view = self._measured(folder, probing_study(self.fabric, self.what), mpicxx)
        found = probed(view)
        title = view.titled(f"Numbers of the cost model on {self.fabric.name}")
        console(160).print(terminal(probed_table(title, found, self.fabric)))
        return code, view, found

    def predict(self) -> int:
        """Print what the cost model expects of each algorithm; returns 0. FabricError for a missing number."""
        machine, screen = self.machine or Machine.of(self.fabric), console()
        sizes, ranks = [parse_bytes(size) for size in self.what.sizes], self.what.ranks_per_node
        title = f"Predicted times of MPI_Alltoall on {self.fabric.name}"
        for count in self.what.nodes:
            for some in columns_of(sizes, ranks, screen.width):
                screen.print(terminal(predicted_table(title, machine, count, ranks, some), screen.width))
            for line in published(count, ranks, sizes):
                screen.print(line)
        if confidence := model_text(find_model_doubt(self.fabric)):
            screen.print(confidence)
        return 0

    def go(self, output: Path, mpicxx: str | None = None) -> int:
        """Measure, or continue; print the winners; write the table. The run's exit code, or WeftError."""
        code, view = self._measured(self.into, tuning_study(self.fabric, self.what), mpicxx)
        found = choices(view)
        table = table_of(view)
        write_if_changed(table, output)
        self._show(view, found, output)
        count = sum(rule.algorithm != PMPI for rule in table.rules)
        sys.stdout.write(plain(f"{count} rules: {output} (weft exec --table {output} -- mpirun ...)\n"))
        return code

    def _show(self, view: RunView, found: Sequence[Choice], output: Path) -> None:
        """The card and the winners on the terminal, and with the map of winners on the run's page."""
        claims = tuning_claims(found, str(output), view)
        card = Card(f"tune on {self.fabric.name}", run_facts(view), card_rows(claims))
        grade, out = claims[0]["confidence"], console(160)
        table = winners_table(view.titled(f"What to take on {self.fabric.name}"), found, self.fabric)
        notes = tuple(prediction_errors(found, self.fabric))
        print_rows(card, grade, out)
        out.print()
        out.print(terminal(table))
        sys.stdout.write(plain("".join(f"{line}\n" for line in notes)))
        map_of_winners = winner_figure(view.titled("Fastest algorithm by size and process count"), as_winners(found))
        front = Front(card, grade, map_of_winners, table, notes, "Which all-to-all is the fastest where?")
        page.write([view.path], RunFolder(view.path).report, front=front)

    def check(self, table: Path, mpicxx: str | None = None) -> int:
        """Measure ``auto`` by a table beside all other algorithms, print the ratios; the exit code, or WeftError."""
        read_selection(table)
        folder = self.into.with_name(f"{self.into.name}-check")
        code, view = self._measured(folder, checking_study(self.fabric, self.what, table), mpicxx)
        found = checked(view)
        screen = console(160)
        claims = check_claims(found, view.quality, view.claimed("doubt"))
        card = Card(f"table {table.name} on {self.fabric.name}", run_facts(view), card_rows(claims))
        print_rows(card, claims[0]["confidence"], screen)
        screen.print()
        screen.print(terminal(check_table(view.titled(f"auto beside all others on {self.fabric.name}"), found)))
        return code

    def _measured(self, into: Path, text: str, mpicxx: str | None) -> tuple[int, RunView]:
        """Measure a study, or continue; its exit code and its run."""
        study = into.with_name(f"{into.name}.toml")
        with file_errors(study):
            study.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(study, text.encode())
        code = Measuring(str(study), (self.on,), into, mpicxx, answer=write_page).go()
        return code, load_view(into)


def _refuse_mistakes(asked: Asked) -> None:
    """Raise a StudyError for what the study made of it would refuse by its own keys, in a file that nobody wrote."""
    for size in asked.sizes:
        try:
            parse_bytes(size)
        except ValueError as error:
            raise StudyError(f'--sizes "{size}": {error}', 'bytes of a block: --sizes "8 B" "4 KiB"') from error
    for skew in asked.skew:
        if not 1 < skew <= MOST_SKEW:
            raise StudyError(f"--skew {skew:g}: it must be over 1, at most {MOST_SKEW:,}", "--skew 2 4")
    if asked.skew and asked.calls and "Alltoallv" not in asked.calls:
        raise StudyError("--skew is of Alltoallv, which is not among --calls", "--calls Alltoallv")
    one = ((asked.ranks_per_node, "--ranks-per-node"), (asked.launches, "--launches"))
    for number, option in (*((count, "--nodes") for count in asked.nodes), *one):
        if number is not None and number < 1:
            raise StudyError(f"{option} {number}: there must be one at least", f"{option} 4")


def write_if_changed(table: SelectionTable, output: Path) -> None:
    """Write a table, unless only its time of making differs: a run goes on by it. DataError if impossible."""
    try:
        before = read_selection(output).model_copy(update={"created": table.created})
    except DataError:
        before = None  # none there yet, or spoilt
    if before != table:
        table.write(output)


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
