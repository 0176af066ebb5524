# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a study of collectives: process counts, calls, forms, patterns and sizes that exist."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from weft.errors import StudyError
from weft.format import format_bytes
from weft.kernel import Shape
from weft.kernel.collective.study import UP_TO_ALL, CollectiveSection, CollectiveSeries, CollectiveStudy
from weft.kernel.collective.traffic import ELEMENT
from weft.kernel.skew import GRAPHS, SKEWED, has_weights, is_skewed, peak_of, skewed_weights
from weft.mpi.guidelines import guidelines_of
from weft.study import doubling

MOST_INT = 2**31 - 1
ALL_SENT = frozenset({"alltoall", "alltoallv", "scatter", "reduce_scatter"})
ALL_RECEIVED = frozenset({"alltoall", "alltoallv", "gather", "allgather"})
ROOTED = frozenset({"bcast", "scatter", "gather", "reduce"})
REDUCING = frozenset({"allreduce", "reduce", "reduce_scatter"})


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
            # of skewed blocks the study gives the mean, the cell the largest
            peak = peak_of(skewed_weights(pattern, ranks)) if is_skewed(pattern) else 1.0
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


def needs_wide(values: Mapping[str, Any], ranks: int) -> bool:
    """Whether an int cannot count the elements of the largest block, or where the last of unequal blocks begins."""
    unit = ELEMENT if values["form"] == "vector" or values["collective"] in REDUCING else 1
    block = values["bytes"][-1] // unit
    return block > MOST_INT or (values["collective"] == "alltoallv" and block > MOST_INT // ranks)
