# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``collective``: an MPI collective over sizes, process counts and nodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.matrix import read_matrix
from weft.format import format_bytes
from weft.kernel import FlatValue, MeasuredKernel, Shape, Sizes, Sweep, counted
from weft.kernel.budget import INT_BYTES, enough_time, sample_bytes, staging
from weft.kernel.collective.study import UP_TO_ALL, CollectiveSection, CollectiveSeries, CollectiveStudy, variants
from weft.kernel.collective.traffic import CollectiveTraffic
from weft.kernel.sizes import op_name, split_op
from weft.kernel.skew import (
    GRAPHS,
    SKEWED,
    has_weights,
    is_skewed,
    made_weights,
    named_skew,
    peak_of,
    skewed_weights,
)
from weft.kernel.steps import breakdown_messages, breakdown_need, is_explained
from weft.kernel.traffic import MatrixTraffic, Traffic, Uniform, barrier_messages
from weft.mpi.alltoall import is_own
from weft.mpi.guidelines import guidelines_of
from weft.study import Measure, Series, Study, doubling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROOTS = 32  # most roots that take turns, if each is measured once
MOST_INT = 2**31 - 1
WIDE_BYTES = 8  # of a count or a displacement of MPI 4
ELEMENT = 8  # bytes of an element of a reduction or of a derived datatype
ALL_SENT = frozenset({"alltoall", "alltoallv", "scatter", "reduce_scatter"})
ALL_RECEIVED = frozenset({"alltoall", "alltoallv", "gather", "allgather"})
ROOTED = frozenset({"bcast", "scatter", "gather", "reduce"})
REDUCING = frozenset({"allreduce", "reduce", "reduce_scatter"})


class Collective(MeasuredKernel):
    """Cells, sizes, memory and traffic of collective calls."""

    name = "collective"
    incidental = frozenset({"bytes", "refine", "setting", "explain", "guidelines"})
    study: type[Study] = CollectiveStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """Values for each call, form, pattern and shape; StudyError if no size, time, root or matrix fits."""
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
                for values in calls_of(section, ranks, study, notes):
                    found.append((shape, values | part))
        enough_time(found, study.measure, str(study.path))
        return Sweep(tuple(found), tuple(dict.fromkeys(notes)))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory; the C++ kernel counts the same parts.

        ``send``, ``receive``
            A block each, or p blocks if the call has one for every rank; both at the largest size, and twice that for
            ``vector``, in which every other double is a gap.
        ``counts``
            Counts and displacements of calls with unequal blocks; a second set of 64 bits where ints cannot count.
        ``guidelines``
            The scratch buffer of mock-ups, the call at twice its size, at half of it, and on half of the ranks.
        ``samples``
            24 bytes a sample, preallocated for every size and for the barrier, and the scratch of the stop rule.
        ``library staging``
            An estimate of MPI's own memory.
        """
        collective, largest = values["collective"], values["bytes"][-1]
        spread = 2 if values["form"] == "vector" else 1
        send = ranks if collective in ALL_SENT else 1
        receive = ranks if collective in ALL_RECEIVED else 1
        if values["form"] == "inplace" and collective not in ROOTED:
            receive = max(send, receive)
        operations = len(values["bytes"]) + values["refine"] + 1
        call = {
            "send": send * largest * spread,
            "receive": receive * largest * spread,
            "counts": (4 * INT_BYTES + (4 * WIDE_BYTES if needs_wide(values, ranks) else 0)) * ranks,
        }
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

    def inputs_of(self, values: Mapping[str, Any]) -> list[str]:
        """The traffic matrix and the selection table, if there are any."""
        return [key for key in ("matrix", "table") if key in values]

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """All sizes of an all-to-all."""
        return self.operations(values, ranks) if is_explained(values, ranks) else []

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """The largest block, all blocks of one rank, and all blocks of all ranks."""
        block = values["bytes"][-1]
        blocks = ranks if values["collective"] in ALL_SENT | ALL_RECEIVED else 1
        return Sizes(block=block, local=block * blocks, array=block * blocks * ranks)

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """The call at each size, ascending; without its traffic, whose matrix may be gone."""
        return [op_name(op_prefix(values), size) for size in values["bytes"]]

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Least traffic of the call at each size, ascending; the barrier has none."""
        return {op_name(op_prefix(values), size): traffic_at(values, size, ranks) for size in values["bytes"]}

    def collective_of(self, operation: str) -> str:
        """The part of the name before size, pattern and form."""
        return split_op(operation)[0].partition("-")[0]

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        """The collective of the cell."""
        return frozenset({values["collective"]})

    def cases(self, values: Mapping[str, Any], ranks: int) -> int:
        """Number of roots that take turns: all ranks, or evenly spaced ones."""
        return min(ranks, MOST_ROOTS) if values.get("root", 0) < 0 else 1

    def words(self, values: Mapping[str, Any]) -> str:
        """The call, its form or pattern, and the number of its sizes."""
        special = (values.get("pattern", ""), values["form"], values.get("algorithm", ""), values.get("progress", ""))
        return counted(values, values["collective"], *(word for word in special if word not in ("plain", "equal")))

    def has_floor(self, values: Mapping[str, Any]) -> bool:
        """Not of guidelines: calls are compared with each other."""
        return "guidelines" not in values

    def variants(self, study: Study, sweep: Sweep, find_library: Callable[[], str]) -> Sweep:
        """A cell for each algorithm of the library, if the study asks for them."""
        assert isinstance(study, CollectiveStudy)
        section = study.collective
        if section.table is not None:
            section = section.model_copy(update={"table": str((study.path.parent / section.table).resolve())})
        return variants(section, sweep, find_library)

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        """Keys of the flat plan."""
        keys = ("collective", "form", "bytes", "refine", "root", "pattern", "table", "guidelines")
        own = {"algorithm": values["algorithm"]} if is_own(values.get("algorithm", "")) else {}
        found: dict[str, FlatValue] = {key: values[key] for key in keys if key in values} | own
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
        """All sizes, of the one call."""
        return {values["collective"]: values["bytes"]}

    def exchanges(self, values: Mapping[str, Any], ranks: int) -> Sequence[tuple[str, str, int]]:
        """An all-to-all of equal blocks of bytes at each size, and the barrier that is its floor."""
        call = values["collective"]
        if call not in ALL_SENT & ALL_RECEIVED or op_prefix(values) != call or "table" in values:
            return ()
        return [*((op_name(call, size), call, size) for size in values["bytes"]), ("barrier", "barrier", 0)]


def needs_wide(values: Mapping[str, Any], ranks: int) -> bool:
    """Whether an int cannot count the elements of the largest block, or where the last of unequal blocks begins."""
    unit = ELEMENT if values["form"] == "vector" or values["collective"] in REDUCING else 1
    block = values["bytes"][-1] // unit
    return block > MOST_INT or (values["collective"] == "alltoallv" and block > MOST_INT // ranks)


def op_prefix(values: Mapping[str, Any]) -> str:
    """Name of a cell's operations, without the size: ``alltoall``, ``alltoallv-linear``, ``allgather-inplace``."""
    words = [values["collective"]]
    if values.get("pattern", "equal") != "equal":
        words.append(values["pattern"])
    if values["form"] != "plain":
        words.append(values["form"])
    return "-".join(words)


def traffic_at(values: Mapping[str, Any], size: int, ranks: int) -> Traffic:
    """Least traffic of a cell's call at one size; it is exact for an all-to-all of equal blocks on even nodes."""
    least = CollectiveTraffic(
        collective=values["collective"],
        block_bytes=size,
        ranks=ranks,
        node_ranks=tuple(values.get("node_ranks", ())),
        in_place=values["form"] == "inplace",
        pattern=values.get("pattern", "equal"),
    )
    try:
        weights = weights_of(values, ranks)
    except StudyError:  # the matrix stayed on another machine: what holds for any pattern is lower, and valid
        weights = None
    if weights is not None and len(weights) == ranks:
        unit = ELEMENT if values["form"] == "vector" else 1
        return MatrixTraffic(size, ranks, weights, unit, least.node_ranks, values.get("cyclic", False))
    everywhere = least.collective in ("alltoall", "alltoallv") and least.pattern == "equal"
    if everywhere and not least.in_place and not least.node_ranks:
        return Uniform(size, least.rounds, least.messages)
    return least


def process_counts(series: CollectiveSeries, shape: Shape, notes: list[str]) -> list[int]:
    """Process counts of a shape, ascending; adds a note on those larger than its number of ranks."""
    if series.processes is None:
        return [shape.ranks]
    if series.processes == UP_TO_ALL:
        return sorted({*doubling(shape.ranks), shape.ranks} - {1}) or [1]
    assert not isinstance(series.processes, str)
    found = sorted(count for count in series.processes if count <= shape.ranks)
    for count in series.processes:
        if count > shape.ranks:
            notes.append(
                f"series {series.name}: {count} processes are more than the {shape.ranks} of {shape.nodes} nodes"
            )
    return found


def fitting(section: CollectiveSection, rows: int, ranks: int, where: str) -> None:
    """StudyError for a root that is not below the number of ranks, or a matrix with another number of rows."""
    if section.root >= ranks:
        raise StudyError(
            f"{where}.root = {section.root} is not one of the {ranks} ranks", 'give a lower one, or "rotating"'
        )
    if section.matrix and rows != ranks:
        raise StudyError(
            f"{where}.matrix = {section.matrix!r} has {rows} rows, and a cell has {ranks} ranks",
            f"give the series {rows} ranks, such as processes = [{rows}]",
        )


def calls_of(
    section: CollectiveSection, ranks: int, study: CollectiveStudy, notes: list[str]
) -> Iterable[dict[str, Any]]:
    """Values for each call, pattern and form that exists."""
    for collective, form in product(section.collectives, section.forms):
        for pattern in patterns_of(section, ranks, notes) if collective == "alltoallv" else ("",):
            if why := impossible(collective, form, pattern):
                notes.append(f"{collective} {form}: {why}")
                continue
            values: dict[str, Any] = {"collective": collective, "form": form}
            # of skewed blocks the study gives the mean, the cell the largest
            peak = peak_of(skewed_weights(pattern, ranks)) if is_skewed(pattern) else 1.0
            values |= {"bytes": list(fitting_sizes(section, collective, form, ranks, study, notes, peak))}
            values |= {"columns": ranks} if has_weights(pattern) else {}
            if study.placement.order == "cyclic" and (pattern == "matrix" or has_weights(pattern)):
                values["cyclic"] = True
            values |= {"refine": section.refine}
            in_turns = section.guidelines or section.overlap or form == "neighbor"
            if study.explain and collective in ALL_SENT & ALL_RECEIVED and not in_turns:
                values["explain"] = True
            values |= {"guidelines": guidelines_of(collective, ranks)} if section.guidelines else {}
            values |= {"within_s": section.guidelines_within} if section.guidelines_within else {}
            values |= {"overlap": True} if section.overlap else {}
            if collective in ROOTED:
                values["root"] = 0 if in_turns else section.root
            if pattern:
                values["pattern"] = pattern
            if pattern == "matrix" and section.matrix:
                values["matrix"] = str((study.path.parent / section.matrix).resolve())
            yield values


def patterns_of(section: CollectiveSection, ranks: int, notes: list[str]) -> list[str]:
    """The patterns of a study with their skews: ``zipf2.5``; adds a note on skews that so few ranks cannot have."""
    found: list[str] = []
    for pattern in section.patterns:
        if pattern not in SKEWED:
            found.append(pattern)
            continue
        found += [named_skew(pattern, skew) for skew in section.skew if skew <= ranks]
        if any(skew > ranks for skew in section.skew):
            notes.append(f"alltoallv {pattern}: a skew over {ranks} does not exist among {ranks} ranks")
    return found


def weights_of(values: Mapping[str, Any], ranks: int) -> "NDArray[np.int64] | None":
    """Weights of the blocks of a cell with a matrix or a skew, shape (ranks, ranks); None for other patterns."""
    if has_weights(values.get("pattern", "")):
        return made_weights(values["pattern"], ranks)
    if "matrix" not in values:
        return None
    import numpy as np

    return np.array(read_matrix(Path(values["matrix"])), dtype=np.int64)


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
    section: CollectiveSection,
    collective: str,
    form: str,
    ranks: int,
    study: CollectiveStudy,
    notes: list[str],
    peak: float = 1.0,
) -> list[int]:
    """The sizes that a call can have, times ``peak``: whole elements, within ``memory_most``; StudyError for none."""
    whole = collective in REDUCING or form == "vector"
    sizes = [size for size in section.sizes if not whole or size % ELEMENT == 0]
    if len(sizes) < len(section.sizes):
        notes.append(f"{collective} {form}: sizes that are no whole doubles are left out")
    unit = ELEMENT if whole else 1
    sizes = sorted({round(size * peak / unit) * unit for size in sizes})
    blocks = (ranks if collective in ALL_SENT | ALL_RECEIVED else 1) * (2 if form == "vector" else 1)
    if section.memory_most is not None:
        small = [size for size in sizes if size * blocks <= section.memory_most]
        if len(small) < len(sizes):
            most = format_bytes(section.memory_most)
            notes.append(f"{collective} {form} on {ranks} ranks: sizes whose buffers exceed {most} are left out")
        sizes = small
    if not sizes:
        raise StudyError(
            f"{study.path}: collective.sizes leaves none for {collective} {form} on {ranks} ranks",
            "give it sizes in whole doubles (8 B, 16 B ...), or a larger memory_most",
        )
    return sizes
