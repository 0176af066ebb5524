# SPDX-License-Identifier: BSD-3-Clause
"""The work of ``weft tune``, and of ``weft fabric learn``: a machine learnt from the probe of one node pair."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from weft.analyse.claims.make import find_model_doubt
from weft.errors import DataError, FabricError, StudyError
from weft.fabric.model import Fabric, complete, load_fabric
from weft.fabric.numbers import with_number
from weft.files.atomic import file_errors, write_atomic
from weft.fit.inputs import MeasuredCell, read_cells
from weft.fit.run import Filled, bound_model, filled_text, machine_of, refuse_path, simulation_model, write_value
from weft.format import format_seconds, percent, plural, relative_error
from weft.host import read_host
from weft.mpi.alltoall import PMPI, SCHEMA, SelectionTable, read_selection
from weft.report import page
from weft.report.card import print_rows, run_facts
from weft.report.figures.sizes import winner_figure
from weft.report.page import Front
from weft.report.tabular import Table, Words, make_table, terminal
from weft.report.view import RunView, load_view
from weft.run.folder import RUNS, latest_first
from weft.run.many import Measuring
from weft.run.refine import write_page
from weft.run.refresh import refresh
from weft.store.folder import RunFolder
from weft.text import console, plain
from weft.tune import rules, study
from weft.tune.model import Machine, MachineFile, probed_table, read_machine
from weft.units import parse_bytes
from weft.words.card import Card, say

MOST_SKEW = 1000  # of a study
PAIR, CALL = 2, "C"  # nodes; the call of `weft fabric fit`: whole vectors


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
        if (ranks := asked.ranks_per_node or self.fabric.node.cores) is None:
            raise StudyError(f"{self.fabric.path}: node.cores is not stated", "give --ranks-per-node")
        nodes, sizes = tuple(asked.nodes) or (len(self.fabric.hosts),), tuple(asked.sizes) or study.SIZES
        launches = asked.launches or (1 if self.fabric.is_model else study.LAUNCHES)
        calls, skew = tuple(asked.calls) or study.CALLS, tuple(dict.fromkeys(asked.skew))
        self.what = study.What(nodes, ranks, sizes, launches, calls, skew, asked.oversubscribe)
        self.machine = read_machine(machine).machine(self.fabric) if machine else None
        self.into = into or RUNS / f"tune-{self.fabric.name}"

    def probe(self, output: Path, mpicxx: str | None = None) -> int:
        """Measure, print and write the cost model's numbers; the exit code. WeftError, also if the run is too noisy."""
        code, _, found = self.measure_probe(mpicxx)
        found.write(output)
        sys.stdout.write(plain(f"{output} (weft tune --machine {output} --predict)\n"))
        return code

    def measure_probe(self, mpicxx: str | None = None) -> tuple[int, RunView, MachineFile]:
        """Measure, or continue, and print the cost model's numbers: the run's exit code, the run, and the numbers."""
        folder = self.into.with_name(f"{self.into.name}-probe")
        code, view = self._measured(folder, study.probing_study(self.fabric, self.what), mpicxx)
        found, title = study.probed(view), view.titled(f"Numbers of the cost model on {self.fabric.name}")
        console(160).print(terminal(probed_table(title, found, self.fabric)))
        return code, view, found

    def predict(self) -> int:
        """Print what the cost model expects of each algorithm; returns 0. FabricError for a missing number."""
        machine, screen = self.machine or Machine.of(self.fabric), console()
        sizes, ranks = [parse_bytes(size) for size in self.what.sizes], self.what.ranks_per_node
        title = f"Predicted times of MPI_Alltoall on {self.fabric.name}"
        for count in self.what.nodes:
            for some in rules.columns_of(sizes, ranks, screen.width):
                screen.print(terminal(rules.predicted_table(title, machine, count, ranks, some), screen.width))
            for line in rules.published(count, ranks, sizes):
                screen.print(line)
        if doubt := find_model_doubt(self.fabric):
            screen.print(f"Confidence {doubt['confidence']}: {say(doubt).value}")
        return 0

    def go(self, output: Path, mpicxx: str | None = None) -> int:
        """Measure, or continue; print the winners; write the table. The run's exit code, or WeftError."""
        code, view = self._measured(self.into, study.tuning_study(self.fabric, self.what), mpicxx)
        found, table = rules.choices(view), table_of(view)
        write_if_changed(table, output)
        self._show(view, found, output)
        count = sum(rule.algorithm != PMPI for rule in table.rules)
        sys.stdout.write(plain(f"{count} rules: {output} (weft exec --table {output} -- mpirun ...)\n"))
        return code

    def _show(self, view: RunView, found: Sequence[rules.Choice], output: Path) -> None:
        card = Card.of(f"tune on {self.fabric.name}", run_facts(view), rules.tuning_claims(found, str(output), view))
        table = rules.winners_table(view.titled(f"What to take on {self.fabric.name}"), found, self.fabric)
        notes = tuple(rules.prediction_errors(found, self.fabric))
        print_rows(card, console(160), terminal(table))
        sys.stdout.write(plain("".join(f"{line}\n" for line in notes)))
        drawn = winner_figure(view.titled("Fastest algorithm by size and process count"), rules.as_winners(found))
        front = Front(card, drawn, table, notes, "Which all-to-all is the fastest where?")
        page.write([view.path], RunFolder(view.path).report, front=front)

    def check(self, table: Path, mpicxx: str | None = None) -> int:
        """Measure ``auto`` by a table beside all other algorithms, print the ratios; the exit code, or WeftError."""
        read_selection(table)
        folder = self.into.with_name(f"{self.into.name}-check")
        code, view = self._measured(folder, study.checking_study(self.fabric, self.what, table), mpicxx)
        claims = study.check_claims(found := study.checked(view), view.quality, view.claimed("doubt"))
        card = Card.of(f"table {table.name} on {self.fabric.name}", run_facts(view), claims)
        shown = study.check_table(view.titled(f"auto beside all others on {self.fabric.name}"), found)
        print_rows(card, console(160), terminal(shown))
        return code

    def _measured(self, into: Path, text: str, mpicxx: str | None) -> tuple[int, RunView]:
        path = into.with_name(f"{into.name}.toml")
        with file_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text.encode())
        return Measuring(str(path), (self.on,), into, mpicxx, answer=write_page).go(), load_view(into)


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
        rules=tuple(rules.rules(rules.choices(view))),
    )


def learn(on: str, output: Path, ranks: int | None, into: Path | None, against: Sequence[Path], simulate: bool) -> int:
    """Probe a node pair of a fabric and write what it found; the exit code. StudyError for one node, or WeftError."""
    fabric = (tuning := Tuning(on, Asked(ranks_per_node=ranks), into)).fabric
    if len(fabric.hosts) < PAIR:
        raise StudyError(f"{fabric.name} has one node: a network is probed between two", "name a fabric of two or more")
    refuse_path(given := load_fabric(on), output)
    code, view, found = tuning.measure_probe()
    machine, filled = machine_of(given, view.path)
    source = f"fitted to the probe {view.path.name} on {PAIR} of {len(fabric.hosts)} nodes (weft fabric learn)"
    numbers = numbers_of(found)
    for key, value in numbers.items():
        machine = with_number(machine, key, value)
    cells = larger_cells(fabric, against)
    errors = modelled_errors(machine, cells, simulate=simulate)
    known = f"error on more than {PAIR} nodes: unknown until a run of the kernel exchange on {fabric.name} has more"
    if errors:
        mean = float(np.mean(np.abs(list(errors.values()))))
        source += f"; error on unseen cells {percent(mean)}"
        known = f"mean error on {plural(len(errors), 'cell')} of more nodes: {percent(mean)}"
        console(120).print(terminal(_errors_table(fabric.name, cells, errors)))
    units = {key: "B/s" if key.endswith("rate") else "s" for key in numbers}
    learnt = [Filled(key, write_value(value, units[key]), source) for key, value in numbers.items()]
    kept = [entry for entry in filled if entry.key not in numbers]
    write_atomic(output, filled_text(given.text, (*kept, *learnt)).encode())
    load_fabric(output)
    sys.stdout.write(plain(f"{known}\nwrote {output}\n"))
    return code


def numbers_of(found: MachineFile) -> dict[str, float]:
    """The probe's numbers by key of a fabric file; those that it found to be zero are left out."""
    values = {
        "node.copy_rate": found.copy_rate_bytes_per_s, "network.adapter_rate": found.rate_bytes_per_s,
        "network.overhead": found.overhead_s, "network.message_gap": found.gap_s,
        "network.latency": found.one_way_s - found.overhead_s,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value > 0}


def larger_cells(fabric: Fabric, against: Sequence[Path]) -> list[MeasuredCell]:
    """Measured cells on more than two nodes, of these runs or of all runs on the fabric below ``runs``."""
    found: dict[str, MeasuredCell] = {}
    for path in against or latest_first():
        try:
            if against or RunFolder(path).metadata().get("fabric") == fabric.name:
                refresh(path)
                for cell in read_cells(path, CALL):
                    if cell.nodes > PAIR and cell.call == CALL:
                        found.setdefault(cell.label, cell)  # the newest run comes first
        except (DataError, FabricError, StudyError):
            if against:
                raise
    return list(found.values())


def modelled_errors(machine: Fabric, cells: Sequence[MeasuredCell], *, simulate: bool) -> dict[str, float]:
    """Relative error of the modelled time of each cell, by its name."""
    if not cells:
        return {}
    model, say = bound_model(machine, {}, cells), console(stderr=True).print
    with tempfile.TemporaryDirectory(prefix="weft-learn-") as scratch:
        model = simulation_model(machine, {}, cells, Path(scratch), say) if simulate else model
        times = model(np.empty(0), range(len(cells)))
    return {cell.label: float(time) / cell.seconds - 1 for cell, time in zip(cells, times, strict=True)}


def _errors_table(name: str, cells: Sequence[MeasuredCell], errors: dict[str, float]) -> Table:
    return make_table(
        f"{name}: predicted from two nodes", cells,
        (Words("cell"), "", lambda cell: cell.label), ("measured", "", lambda cell: format_seconds(cell.seconds)),
        ("model", "", lambda cell: format_seconds(cell.seconds * (1 + errors[cell.label]))),
        ("error", "", lambda cell: relative_error(errors[cell.label])),
    )  # fmt: skip
