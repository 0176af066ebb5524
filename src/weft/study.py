# SPDX-License-Identifier: BSD-3-Clause
"""A study as its file describes it: the keys that all kernels share, who extend :class:`Series` and :class:`Study`."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from weft.fabric.nodeset import expand
from weft.files.reading import as_list, is_table
from weft.files.section import Section, WholeFile
from weft.units import Seconds, written

Count = Annotated[int, Field(strict=True, ge=1, le=2**40)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
DOUBLING = "1..nodes"
MOST_RANKS = 10_000_000
NUMBER = {"type": "integer", "minimum": 1}  # schema
NUMBERS = {"type": "array", "items": NUMBER}
MOST_CELLS = 20_000  # ids are c000, ..., c999, c1000, ...
Sweep = TypeVar("Sweep")


def doubling(most: int) -> tuple[int, ...]:
    """1, 2, 4 ... up to ``most``."""
    return tuple(2**power for power in range(most.bit_length()))


def whole_numbers(value: object, wanted: str) -> tuple[int, ...]:
    """Different counts of nodes, ranks or pairs; ValueError ``wanted`` for others, or for over a thousand: cells."""
    listed = as_list(value)
    if len(listed) > MOST_CELLS:
        raise ValueError(f"holds {len(listed):,} numbers; at most {MOST_CELLS:,} keep a run readable")
    numbers = [item for item in listed if type(item) is int and 1 <= item <= MOST_RANKS]
    if not listed or len(set(numbers)) != len(listed):
        raise ValueError(wanted)
    return tuple(numbers)


def numbers_or(wanted: str, schema: dict[str, Any], *words: str | None) -> tuple[Any, ...]:
    """Metadata of a pydantic type: one of these words, or different counts; ValueError ``wanted`` for all else."""

    def parse(value: object) -> Any:
        return value if value in words else whole_numbers(value, wanted)

    return written(parse, as_written, schema)


def parse_hosts(value: object) -> str | dict[int, str]:
    """The nodes to choose from: "compact", "best", a node set, or a table of groups by number of nodes; ValueError."""
    if isinstance(value, str):
        if value not in ("compact", "best"):
            expand(value)
        return value
    table = {str(key): group for key, group in value.items()} if is_table(value) else {}
    numbers = all(key.isascii() and key.isdigit() and len(key) < 8 for key in table)
    if table and numbers and all(isinstance(group, str) for group in table.values()):
        return {int(key): group for key, group in table.items()}
    raise ValueError(
        '"compact", "best", a node set such as "n[37-54]", or a table { 3 = "port-group", 9 = "row" } of groups'
    )


def as_written(value: Any) -> Any:
    """A value in the form that the parsers above read."""
    return as_list(value) if isinstance(value, tuple) else value


_NUMBERS = [NUMBER, NUMBERS | {"minItems": 1}]
_NODES = f'a list of different whole numbers from 1, such as [1, 3, 9], or "{DOUBLING}" (1, 2, 4 ...)'
_RANKS = 'a whole number from 1, a list of different ones, "cores", or "fill" (1, 2, 4 .. cores, twice cores)'
Nodes = Annotated[
    tuple[int, ...] | Literal["1..nodes"], *numbers_or(_NODES, {"anyOf": [*_NUMBERS, {"enum": [DOUBLING]}]}, DOUBLING)
]
RanksPerNode = Annotated[
    tuple[int, ...] | Literal["cores", "fill"],
    *numbers_or(_RANKS, {"anyOf": [*_NUMBERS, {"enum": ["cores", "fill"]}]}, "cores", "fill"),
]
_GROUPS = {"type": "object", "additionalProperties": {"type": "string"}}
Hosts = Annotated[str | dict[int, str], *written(parse_hosts, as_written, {"anyOf": [{"type": "string"}, _GROUPS]})]


class Measure(Section, frozen=True):
    """How long and how exactly each operation is measured (METHOD 3, 5-9)."""

    launches: Annotated[int, Field(strict=True, ge=1, le=1000)] = Field(4, description="starts of the ranks, 1 to 1000")
    start: Literal["barrier", "mpi-barrier", "window"] = Field("barrier", description="barrier, mpi-barrier or window")
    precision: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = Field(
        0.05, description="half width of the 95 % interval of the median, relative: 0.05"
    )
    min_samples: Count = Field(10, description="samples of one operation, at least")
    max_samples: Count = Field(1000, description="samples of one operation, at most")
    warmup_most: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = Field(
        50, description="warm-up calls, at most"
    )
    time: Seconds = Field(
        0.0,
        description='time of the whole run: "1 min"; the budget of an operation is then what fits, and rounds of '
        "launches are added until it ends; 0 s: as launches and budget say",
    )
    budget: Seconds = Field(5.0, description='measuring time of one operation in one cell and launch: "5 s"')
    limit: Seconds = Field(
        120.0,
        description='a cell that runs longer counts as hung: "120 s"; raised automatically where the budgets need more',
    )
    io: Literal["mpi", "posix"] = Field(
        "mpi", description="mpi: ranks write samples by MPI-IO; posix: rank 0 gathers and writes them"
    )
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None = Field(None, description="a whole number")

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse limits that contradict each other."""
        if self.min_samples > self.max_samples:
            raise ValueError(f"min_samples = {self.min_samples} is over max_samples = {self.max_samples}")
        if self.budget <= 0:
            raise ValueError('budget must be over 0, such as "5 s"')
        if "limit" in self.model_fields_set and self.limit <= self.budget:
            short = f"limit = {self.limit:g} s leaves no room for the budget of {self.budget:g} s an operation"
            raise ValueError(f"{short}: give it several times the budget")
        return self

    @model_serializer(mode="wrap")
    def written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a limit that nobody stated: read again from a plan it would be one, and perhaps below the budget."""
        tree = handler(self)
        unstated = {key for key in ("limit", "time") if key not in self.model_fields_set}
        return {key: tree[key] for key in tree if key not in unstated}


class Placement(Section, frozen=True):
    """Nodes of a cell, and the order of ranks on them."""

    nodes: Hosts = Field(
        "compact", description='"compact", "best" by the routes, a node set, or a table of groups by number of nodes'
    )
    order: Literal["block", "cyclic"] = Field("block", description="block or cyclic")
    oversubscribe: Annotated[bool, Field(strict=True)] = Field(
        False, description="true runs cells with more ranks than cores, and marks them"
    )


class Series(Section, frozen=True):
    """One sweep: the cells of one table or of one line in a figure."""

    name: Name = Field(description="letters, digits, . _ -")
    scaling: Literal["strong", "weak", "none"] = Field("none", description="strong, weak or none")
    nodes: Nodes = Field(DOUBLING, description=f'a list such as [1, 3, 9], or "{DOUBLING}"')
    ranks_per_node: RanksPerNode = Field("cores", description='a number, a list of them, "cores" or "fill"')


SeriesOf = Annotated[
    tuple[Sweep, ...], Field(min_length=1, max_length=MOST_CELLS, description="[[series]]: at least one sweep")
]


class Study(WholeFile, frozen=True):
    """What to measure. Kernels extend it by a section of their own name and by their own series."""

    name: Name = Field(description="letters, digits, . _ -")
    title: str = Field("", description="one line for people")
    kernel: str = Field(description="the measured pattern")
    measure: Measure = Field(Measure(), description="[measure]: how long and how exactly")  # pyright: ignore[reportCallIssue]
    placement: Placement = Field(Placement(), description="[placement]: which nodes")  # pyright: ignore[reportCallIssue]
    series: SeriesOf[Series]

    @model_validator(mode="after")
    def names_differ(self) -> Self:
        """Refuse two series of one name: their rows could not be distinguished."""
        for place, each in enumerate(self.series):
            if any(each.name == other.name for other in self.series[:place]):
                raise ValueError(f'two series have the name "{each.name}"')
        return self
