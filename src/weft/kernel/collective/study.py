# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``collective``, and a cell for each algorithm, listed or of the library (``each``)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.files.reading import as_list
from weft.files.section import FilePath, Section
from weft.kernel import Shape, Sweep
from weft.kernel.sizes import ByteSizes, Refine, powers_of_two
from weft.kernel.steps import Explain
from weft.kernel.traffic import SKEWED
from weft.mpi.algorithms import DEFAULT, MOCK_UPS, progress_thread
from weft.mpi.alltoall import AUTO, AlgorithmSpecs
from weft.study import NUMBERS, Series, SeriesOf, Study, as_written, numbers_or
from weft.units import Bytes, Seconds, written

WRITTEN = tuple(name.capitalize() for name in MOCK_UPS)
UP_TO_ALL = "2..p"


def parse_collectives(value: object) -> tuple[str, ...]:
    """Collectives in lower case, from ``["Bcast", "Alltoall"]``; ValueError for none, a repeated or unknown one."""
    names = [str(each).removeprefix("MPI_").lower() for each in as_list(value)]
    if not names or len(set(names)) != len(names) or not set(names) <= set(MOCK_UPS):
        raise ValueError(f"different ones of {', '.join(WRITTEN)}")
    return tuple(names)


def parse_root(value: object) -> int:
    """The root of rooted calls; -1 if it rotates. Raises ValueError: Neither "rotating" nor a whole number from 0."""
    if value == "rotating":
        return -1
    if type(value) is not int or value < 0:
        raise ValueError('"rotating", or the number of a rank, from 0')
    return value


_NAMES = {"type": "array", "items": {"enum": list(WRITTEN)}, "minItems": 1}
_COUNTS = f'a list of different whole numbers from 1, such as [8, 16, 32], or "{UP_TO_ALL}" (2, 4, 8 ..)'
_RANK = {"anyOf": [{"const": "rotating"}, {"type": "integer", "minimum": 0}]}
Collectives = Annotated[tuple[str, ...], *written(parse_collectives, as_written, _NAMES)]
Processes = Annotated[
    tuple[int, ...] | Literal["2..p"] | None,
    *numbers_or(_COUNTS, {"anyOf": [NUMBERS, {"const": UP_TO_ALL}]}, UP_TO_ALL, None),
]
Root = Annotated[int, *written(parse_root, lambda root: "rotating" if root < 0 else root, _RANK)]
Skew = Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)]


class CollectiveSection(Section, frozen=True):
    """``[collective]``: which calls, over which sizes, in which forms."""

    collectives: Collectives = Field(
        ("bcast", "alltoall", "scatter", "gather", "allgather", "allreduce", "reduce", "reduce_scatter"),
        description=f"some of {', '.join(WRITTEN)}",
    )
    sizes: ByteSizes = Field(
        powers_of_two(1, 4 * 2**20),
        description='bytes of a block, or of the message: "1 B .. 4 MiB" (powers of two), or a list',
    )
    memory_most: Bytes | None = Field(None, description="the largest buffer of a rank; larger sizes are left out")
    refine: Refine = 0
    root: Root = Field(-1, description='"rotating": each call has the next rank as its root; or one rank for all')
    forms: Annotated[
        tuple[Literal["plain", "inplace", "vector", "neighbor"], ...], Field(min_length=1, max_length=4)
    ] = Field(
        ("plain",),
        description="plain, inplace (MPI_IN_PLACE), vector (every other double, by a derived datatype), neighbor "
        "(MPI_Neighbor_alltoall in place of Alltoallv, for the patterns cartesian and random)",
    )
    patterns: Annotated[
        tuple[Literal["equal", "linear", "heavy", "matrix", "zipf", "hot", "moe", "cartesian", "random"], ...],
        Field(min_length=1, max_length=9),
    ] = Field(
        ("equal",),
        description="of Alltoallv: equal, linear, heavy (one rank sends 8 times as much), matrix; and by skew: hot "
        "(one receiver), zipf (receivers and senders), moe (receivers, with preferences of each sender); cartesian and "
        "random: equal blocks between the four neighbours of a graph",
    )
    skew: Annotated[tuple[Skew, ...], Field(max_length=20)] = Field(
        (),
        description="for the patterns zipf, hot and moe: bytes of the busiest receiver over the mean, a cell for each: "
        "[1, 2, 4]; sizes are then those of the mean block",
    )
    matrix: FilePath | None = Field(None, description="for the pattern matrix: a file of p x p numbers (.npy, or text)")
    algorithms: Literal["default", "each"] = Field(
        "default", description="each: also a launch for every algorithm that the library lets the user choose"
    )
    algorithm: AlgorithmSpecs = Field(
        (DEFAULT,),
        description='of Alltoall and Alltoallv: "default", or one of Weft\'s own ("node.multi{nl=4}"), or a list: '
        'a cell for each; "auto": by the table',
    )
    table: FilePath | None = Field(
        None,
        description='for the algorithm "auto": a selection table (weft tune); each call chooses as libweft.so does',
    )
    guidelines: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="also what performance guidelines hold each call against (weft audit), in turns with it; root 0",
    )
    guidelines_within: Seconds = Field(
        0.0,
        description="with guidelines: what one size may take with all that it is held against; a larger size for which "
        'three rounds of calls take longer is left out: "0.5 s" (0: none is)',
    )
    overlap: Annotated[bool, Field(strict=True)] = Field(
        False,
        description="also how much of each non-blocking call hides behind computation, and the persistent call (MPI "
        "4), in turns with it; root 0; a cell more with the library's progress thread, if it has one",
    )

    @model_validator(mode="after")
    def guided(self) -> Self:
        """Refuse a time for guidelines that are not measured."""
        if self.guidelines_within and not self.guidelines:
            raise ValueError("guidelines_within is for guidelines = true")
        return self

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse keys that would have no effect, and combinations that MPI does not have."""
        plain = (self.forms, self.patterns, self.algorithm, self.algorithms, self.refine)
        if (self.guidelines or self.overlap) and plain != (("plain",), ("equal",), (DEFAULT,), "default", 0):
            subject = "guidelines are" if self.guidelines else "overlap is"
            raise ValueError(f"{subject} about plain calls: without forms, patterns, algorithms and refine")
        if self.guidelines and self.overlap:
            raise ValueError("guidelines and overlap are measured by two studies")
        if len(set(self.forms)) != len(self.forms) or len(set(self.patterns)) != len(self.patterns):
            raise ValueError("forms or patterns list one word twice")
        if bool(set(SKEWED) & set(self.patterns)) != bool(self.skew) or len(set(self.skew)) != len(self.skew):
            raise ValueError('the patterns "zipf", "hot" and "moe" and the key skew (different numbers) go together')
        if ("matrix" in self.patterns) != (self.matrix is not None):
            raise ValueError('the pattern "matrix" and the key matrix (its file) go together')
        if self.patterns != ("equal",) and "alltoallv" not in self.collectives:
            raise ValueError("patterns are those of Alltoallv, which is not among the collectives")
        if self.algorithm != (DEFAULT,) and not {"alltoall", "alltoallv"} & set(self.collectives):
            raise ValueError("algorithm is that of Alltoall and Alltoallv, which are not among the collectives")
        if (AUTO in self.algorithm) != (self.table is not None):
            raise ValueError('the algorithm "auto" and the key table (its file) go together')
        if self.sizes[0] < 1:
            raise ValueError("sizes start at 1 B: a call of 0 B is measured as barrier")
        return self


class CollectiveSeries(Series, frozen=True):
    """A sweep over nodes, ranks per node, and parts of these ranks."""

    processes: Processes = Field(
        None, description=f'process counts measured within one launch: [8, 16], or "{UP_TO_ALL}"; all ranks by default'
    )


class CollectiveStudy(Study, frozen=True):
    """A study of the kernel ``collective``."""

    kernel: Literal["collective"] = Field(description="collective")
    explain: Explain = True
    collective: CollectiveSection = Field(CollectiveSection(), description="[collective]")  # pyright: ignore[reportCallIssue]
    series: SeriesOf[CollectiveSeries]


def with_threads(sweep: Sweep, library: str) -> Sweep:
    """The cells of a sweep and, where the library has a progress thread, each of them with it."""
    found: list[tuple[Shape, dict[str, Any]]] = []
    for shape, cell in sweep.values:
        thread = progress_thread(library, several_nodes=shape.nodes > 1)
        found += [(shape, cell), *([(shape, cell | {"progress": "thread", "setting": thread})] if thread else [])]
    return Sweep(tuple(found), sweep.notes)
