# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``collective``: an MPI collective over sizes, process counts and nodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.matrix import read_matrix
from weft.format import format_bytes
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep, counted
from weft.kernel.budget import INT_BYTES, enough_time, sample_bytes, staging
from weft.kernel.collective.study import UP_TO_ALL, CollectiveSection, CollectiveSeries, CollectiveStudy, with_threads
from weft.kernel.collective.traffic import ELEMENT, blocks_of, traffic_at, weights_of
from weft.kernel.sizes import op_name, split_op
from weft.kernel.steps import breakdown_messages, breakdown_need, is_explained
from weft.kernel.traffic import GRAPHS, SKEWED, Traffic, barrier_messages, has_weights, peak_of
from weft.mpi.algorithms import DEFAULT, algorithms, guidelines_of, setting
from weft.mpi.alltoall import AUTO, is_own, with_own
from weft.study import Measure, Series, Study, doubling

MOST_ROOTS = 32  # most roots that take turns, if each is measured once
WIDE_BYTES = 8  # of a count or a displacement of MPI 4
MOST_INT = 2**31 - 1
ALL_SENT = frozenset({"alltoall", "alltoallv", "scatter", "reduce_scatter"})
ALL_RECEIVED = frozenset({"alltoall", "alltoallv", "gather", "allgather"})
ROOTED = frozenset({"bcast", "scatter", "gather", "reduce"})
REDUCING = frozenset({"allreduce", "reduce", "reduce_scatter"})


class Collective(Kernel):
    """Cells, sizes, memory and traffic of collective calls."""

    name = "collective"
    incidental = frozenset({"bytes", "refine", "setting", "explain", "guidelines"})
    keys = ("collective", "form", "bytes", "refine", "root", "pattern", "table", "guidelines")
    inputs = ("matrix", "table")
    study: type[Study] = CollectiveStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        assert isinstance(study, CollectiveStudy)
        assert isinstance(series, CollectiveSeries)
        section, where = study.collective, f"{study.path}: collective"
        matrix = read_matrix(study.path.parent / section.matrix) if section.matrix else []
        found: list[tuple[Shape, dict[str, Any]]] = []
        notes: list[str] = []
        for shape in shapes:
            for ranks in process_counts(series, shape, notes):
                fitting(section, len(matrix), ranks, where)
                part = {} if ranks == shape.ranks else {"ranks": ranks}
                found += [(shape, values | part) for values in calls_of(study, ranks, notes)]
        enough_time(found, study.measure, str(study.path))
        return Sweep(tuple(found), tuple(dict.fromkeys(notes)))

    def program(self, study: Study) -> str:
        """With Weft's all-to-alls where the study names one, or a table that does."""
        assert isinstance(study, CollectiveStudy)
        return with_own(self.name, *study.collective.algorithm)

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """``send``, ``receive``: a block each, or p blocks if there is one for every rank, at the largest size; twice
        that for ``vector``, in which every other double is a gap. ``counts``: counts and displacements of calls with
        unequal blocks; a second set of 64 bits where ints cannot count. ``guidelines``: the scratch buffer of mock-ups,
        the call at twice its size, at half of it, on half of the ranks. ``samples``: of every size and the barrier.
        """
        collective, largest = values["collective"], values["bytes"][-1]
        block = largest * (2 if values["form"] == "vector" else 1)
        send, receive = (ranks if collective in calls else 1 for calls in (ALL_SENT, ALL_RECEIVED))
        if values["form"] == "inplace" and collective not in ROOTED:
            receive = max(send, receive)
        operations = len(values["bytes"]) + values["refine"] + 1
        last = largest // (ELEMENT if values["form"] == "vector" or collective in REDUCING else 1)
        # an int cannot count the elements of the largest block, or say where the last of unequal blocks begins
        is_wide = last > MOST_INT or (collective == "alltoallv" and last > MOST_INT // ranks)
        counts = 4 * INT_BYTES + (4 * WIDE_BYTES if is_wide else 0)
        call = {"send": send * block, "receive": receive * block, "counts": counts * ranks}
        rivals = len(values.get("guidelines", ())) * len(values["bytes"])
        scratch = (ranks + 2) * largest + 2 * ranks * ELEMENT
        held = {"guidelines": 4 * sum(call.values()) + scratch, "guideline samples": sample_bytes(rivals, measure)}
        return {
            **call,
            "samples": sample_bytes(operations, measure),
            **(held if rivals else {}),
            **({"overlap samples": sample_bytes(5 * (operations - 1), measure)} if values.get("overlap") else {}),
            **breakdown_need(len(self.explained(values, ranks)) and operations - 1, ranks, measure),
            **staging(ranks),
        }

    def budgets(self, values: Mapping[str, Any], ranks: int) -> int:
        """One more for each size that is measured in turns with others: of guidelines, or of an overlap."""
        in_turns = values.get("guidelines") or values.get("overlap")
        return super().budgets(values, ranks) + (len(values["bytes"]) if in_turns else 0)

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        return self.operations(values, ranks) if is_explained(values, ranks) else []

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        block = values["bytes"][-1]
        blocks = ranks if values["collective"] in ALL_SENT | ALL_RECEIVED else 1
        return Sizes(block=block, local=block * blocks, array=block * blocks * ranks)

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """The call at each size, ascending; without its traffic, whose matrix may be gone."""
        return [op_name(op_prefix(values), size) for size in values["bytes"]]

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        return {op_name(op_prefix(values), size): traffic_at(values, size, ranks) for size in values["bytes"]}

    def collective_of(self, operation: str) -> str:
        return split_op(operation)[0].partition("-")[0]

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({values["collective"]})

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        return min(ranks, MOST_ROOTS) if values.get("root", 0) < 0 else 1

    def words(self, values: Mapping[str, Any]) -> str:
        special = (values.get("pattern", ""), values["form"], values.get("algorithm", ""), values.get("progress", ""))
        return counted(values, values["collective"], *(word for word in special if word not in ("plain", "equal")))

    def variants(self, study: Study, sweep: Sweep, find_library: Callable[[], str]) -> Sweep:
        assert isinstance(study, CollectiveStudy)
        section, found = study.collective, list[tuple[Shape, dict[str, Any]]]()
        if section.overlap:
            return with_threads(sweep, find_library())
        listed, library = section.algorithms != "each", find_library() if section.algorithms == "each" else ""
        several = section.algorithms == "each" or section.algorithm != (DEFAULT,)
        for shape, cell in sweep.values:
            call, ranks = str(cell["collective"]), int(cell.get("ranks", shape.ranks))
            # other calls than all-to-alls have the library's own alone
            for algorithm in section.algorithm if call in ("alltoall", "alltoallv") else (DEFAULT,):
                named: dict[str, Any] = {"algorithm": algorithm, "setting": {}} if several else {}
                if algorithm == AUTO and section.table:
                    named["table"] = str((study.path.parent / section.table).resolve())
                found.append((shape, cell | named))
            if section.algorithms == "each":
                of = {each.name: setting(library, call, each) for each in algorithms(library, call, ranks)}
                found += [(shape, cell | {"algorithm": name, "setting": chosen}) for name, chosen in of.items()]
                listed = listed or bool(of)
        why = f"{library.split(',')[0]} has no option for others" if library else ""
        why = why or "weft run adds those of the library that it finds"
        notes = [] if listed else [f'algorithms = "each": only the library\'s own choice is planned; {why}']
        return Sweep(tuple(found), (*sweep.notes, *notes))

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        found = super().flat(values)
        found |= {"algorithm": values["algorithm"]} if is_own(values.get("algorithm", "")) else {}
        found |= {key: 1 for key in ("explain", "overlap") if values.get(key)}
        found |= {"within_ns": round(1e9 * values["within_s"])} if "within_s" in values else {}
        weights = weights_of(values, values.get("columns", 0))
        if weights is not None:
            found["weights"] = weights.ravel().tolist()
        return found

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """At most one from every rank to every other, if the call has a block for each; else about four per rank."""
        all_pairs = values["collective"] in ("alltoall", "alltoallv", "allgather", "reduce_scatter")
        least = ranks * (ranks - 1) if all_pairs else 4 * ranks
        each = least + barrier_messages(ranks)
        breakdowns = len(self.explained(values, ranks)) * (each + breakdown_messages(ranks))
        turns = 1 + 2 * len(values.get("guidelines", ())) + 4 * bool(values.get("overlap"))  # a mock-up is two calls
        return calls * (len(values["bytes"]) * turns * each + breakdowns)

    def blocks(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[int]]:
        return {values["collective"]: values["bytes"]}

    def exchanges(self, values: Mapping[str, Any], ranks: int) -> Sequence[tuple[str, str, int]]:
        """An all-to-all of equal blocks of bytes at each size, and the barrier that is its floor."""
        call = values["collective"]
        if call not in ALL_SENT & ALL_RECEIVED or values["form"] != "plain" or {"table", "overlap"} & set(values):
            return ()
        prefix = op_prefix(values)
        return [*((op_name(prefix, size), call, size) for size in values["bytes"]), ("barrier", "barrier", 0)]

    def is_uneven(self, values: Mapping[str, Any]) -> bool:
        return values.get("pattern", "equal") != "equal"

    def blocks_between(self, values: Mapping[str, Any], ranks: int, largest: int) -> NDArray[np.int64]:
        """As native/measure/collective/block_pattern.cpp has them."""
        return blocks_of(values, ranks, largest)


def op_prefix(values: Mapping[str, Any]) -> str:
    """Name of a cell's operations, without the size: ``alltoall``, ``alltoallv-linear``, ``allgather-inplace``."""
    special = (values.get("pattern", "equal"), values["form"])
    return "-".join([values["collective"], *(word for word in special if word not in ("equal", "plain"))])


def process_counts(series: CollectiveSeries, shape: Shape, notes: list[str]) -> list[int]:
    """Process counts of a shape, ascending; adds a note on those larger than its number of ranks."""
    if series.processes is None:
        return [shape.ranks]
    if series.processes == UP_TO_ALL:
        return sorted({*doubling(shape.ranks), shape.ranks} - {1}) or [1]
    assert not isinstance(series.processes, str)
    most = f"the {shape.ranks} of {shape.nodes} nodes"
    beyond = [count for count in series.processes if count > shape.ranks]
    notes += [f"series {series.name}: {count} processes are more than {most}" for count in beyond]
    return sorted(set(series.processes) - set(beyond))


def fitting(section: CollectiveSection, rows: int, ranks: int, where: str) -> None:
    """StudyError for a root that is not below the number of ranks, or a matrix with another number of rows."""
    if section.root >= ranks:
        what = f"{where}.root = {section.root} is not one of the {ranks} ranks"
        raise StudyError(what, 'give a lower one, or "rotating"')
    if section.matrix and rows != ranks:
        what = f"{where}.matrix = {section.matrix!r} has {rows} rows, and a cell has {ranks} ranks"
        raise StudyError(what, f"give the series {rows} ranks, such as processes = [{rows}]")


def calls_of(study: CollectiveStudy, ranks: int, notes: list[str]) -> Iterable[dict[str, Any]]:
    """Values for each call, pattern and form that exists."""
    section = study.collective
    for collective, form in product(section.collectives, section.forms):
        for pattern in patterns_of(section, ranks, notes) if collective == "alltoallv" else ("",):
            if why := impossible(collective, form, pattern):
                notes.append(f"{collective} {form}: {why}")
                continue
            peak = peak_of(pattern, ranks)  # of skewed blocks the study gives the mean, the cell the largest
            sizes = fitting_sizes(collective, form, ranks, study, notes, peak)
            values: dict[str, Any] = {"collective": collective, "form": form, "bytes": sizes}
            values |= {"columns": ranks} if has_weights(pattern) else {}
            if study.placement.order == "cyclic" and (pattern == "matrix" or has_weights(pattern)):
                values["cyclic"] = True
            values["refine"] = section.refine
            in_turns = section.guidelines or section.overlap or form == "neighbor"
            if study.explain and collective in ALL_SENT & ALL_RECEIVED and not in_turns:
                values["explain"] = True
            values |= {"guidelines": guidelines_of(collective, ranks)} if section.guidelines else {}
            values |= {"within_s": section.guidelines_within} if section.guidelines_within else {}
            values |= {"overlap": True} if section.overlap else {}
            values |= {"root": 0 if in_turns else section.root} if collective in ROOTED else {}
            values |= {"pattern": pattern} if pattern else {}
            if pattern == "matrix" and section.matrix:
                values["matrix"] = str((study.path.parent / section.matrix).resolve())
            yield values


def patterns_of(section: CollectiveSection, ranks: int, notes: list[str]) -> list[str]:
    """The patterns of a study with their skews: ``zipf2.5``; adds a note on skews that so few ranks cannot have."""
    found: list[str] = []
    for pattern in section.patterns:
        several = [f"{pattern}{skew:g}" for skew in section.skew if skew <= ranks]
        found += several if pattern in SKEWED else [pattern]
        if pattern in SKEWED and len(several) < len(section.skew):
            notes.append(f"alltoallv {pattern}: a skew over {ranks} does not exist among {ranks} ranks")
    return found


def impossible(collective: str, form: str, pattern: str) -> str:
    """Why MPI does not have this form of a call; empty if it does."""
    if form == "inplace" and collective == "bcast":
        return "it has one buffer as it is"
    if form == "inplace" and pattern not in ("", "equal"):
        return f"in place the counts must be alike both ways, and those of {pattern} are not"
    if form == "vector" and collective in REDUCING:
        return "MPI_SUM takes no derived datatype"
    if form == "neighbor" and pattern not in GRAPHS:
        return f"neighbours are those of a graph: Alltoallv with the patterns {' and '.join(GRAPHS)}"
    return ""


def fitting_sizes(
    collective: str, form: str, ranks: int, study: CollectiveStudy, notes: list[str], peak: float
) -> list[int]:
    """The sizes that a call can have, times ``peak``: whole elements, within ``memory_most``; StudyError for none."""
    section, unit = study.collective, ELEMENT if collective in REDUCING or form == "vector" else 1
    sizes = [size for size in section.sizes if size % unit == 0]
    if len(sizes) < len(section.sizes):
        notes.append(f"{collective} {form}: sizes that are no whole doubles are left out")
    sizes = sorted({round(size * peak / unit) * unit for size in sizes})
    blocks = (ranks if collective in ALL_SENT | ALL_RECEIVED else 1) * (2 if form == "vector" else 1)
    if section.memory_most is not None:
        small = [size for size in sizes if size * blocks <= section.memory_most]
        if len(small) < len(sizes):
            most = format_bytes(section.memory_most)
            notes.append(f"{collective} {form} on {ranks} ranks: sizes whose buffers exceed {most} are left out")
        sizes = small
    if not sizes:
        what = f"{study.path}: collective.sizes leaves none for {collective} {form} on {ranks} ranks"
        raise StudyError(what, "give it sizes in whole doubles (8 B, 16 B ...), or a larger memory_most")
    return sizes
