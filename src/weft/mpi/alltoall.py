# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms of ``native/alltoall``, their specs (``node.multi{nl=4}``), and the tables that ``libweft.so`` reads."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from weft.files.atomic import with_checksum, write_atomic
from weft.files.reading import as_list, is_list, is_table
from weft.files.section import Checksum, Section, read_json_file
from weft.mpi.algorithms import DEFAULT

#: Name -> pattern of each of its parameters. The library itself refuses values out of range.
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "pmpi": {},
    "flat.window": {"w": r"\d+", "order": "shift|xor|node-rotated|permuted", "bytes_in_flight": r"\d+ ?([KMG]i)?B?"},
    "flat.pairwise": {},
    "bruck": {"r": r"\d+"},
    "node.multi": {"nl": r"\d+", "stages": r"\d+"},
    "node.direct": {"w": r"\d+"},
    "node.bruck": {"r": r"\d+"},
    "sched": {"file": ".+"},
    "sched.matrix": {"w": r"\d+"},
}
COMBINING = frozenset({"bruck", "node.multi", "node.direct", "node.bruck"})
"""Algorithms that put blocks for several ranks into one message."""
PMPI = "pmpi"
AUTO = "auto"
_SPEC = re.compile(r"([\w.]+)(?:\{(.*)\})?")
SCHEMA = "weft-tuning/1"
MOST_RULES = 100_000  # more rules than that are a mistake: each call would walk through them
MOST = 2**62
Whole = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Time = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def check_spec(text: str) -> str:
    """The spec of an algorithm of ``native/alltoall``, or ``default``; ValueError names what there is."""
    found = _SPEC.fullmatch(text)
    if text == DEFAULT:
        return text
    if found is None or found[1] not in PARAMETERS:
        raise ValueError(f"no all-to-all algorithm is named {text!r}: there are {DEFAULT}, {', '.join(PARAMETERS)}")
    known = PARAMETERS[found[1]]
    for pair in filter(None, (each.strip() for each in (found[2] or "").split(","))):
        name, _, value = pair.partition("=")
        if name not in known or not re.fullmatch(known[name], value):
            there = ", ".join(f"{each}={pattern}" for each, pattern in known.items()) or "none"
            raise ValueError(f"{found[1]} cannot take {pair!r}: its parameters are {there}")
    return text


def is_own(algorithm: str) -> bool:
    """Whether a name is that of an algorithm of ``native/alltoall``, not of the MPI library."""
    return algorithm.partition("{")[0] in PARAMETERS


def with_own(kernel: str, *algorithms: str) -> str:
    """Name of a kernel's native program: ``collective-own`` has Weft's all-to-alls, which these algorithms may need."""
    return kernel if {*algorithms} <= {DEFAULT, PMPI} else f"{kernel}-own"


def combines(algorithm: str) -> bool:
    """Whether a spec is of an algorithm that puts blocks for several ranks into one message."""
    return algorithm.partition("{")[0] in COMBINING


def _distinct(specs: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(specs)) != len(specs):
        raise ValueError("algorithm holds one name twice")
    return specs


AlgorithmSpec = Annotated[str, AfterValidator(check_spec)]
AlgorithmSpecs = Annotated[
    tuple[Annotated[str, AfterValidator(lambda text: text if text == AUTO else check_spec(text))], ...],
    BeforeValidator(as_list),
    AfterValidator(_distinct),
    Field(min_length=1, max_length=100),
]
"""One algorithm or a list of them, for a kernel that takes a selection table too."""


def chosen(algorithm: str) -> dict[str, Any]:
    """A cell's values for an algorithm: none for the library's own choice."""
    return {} if algorithm == DEFAULT else {"algorithm": algorithm}


class Evidence(Section, frozen=True):
    """The measurement that a rule rests on: the least gain among the sizes that it covers."""

    median_us: Time  # of the algorithm's launches
    interval_us: tuple[Time, Time]
    pmpi_us: Time  # median of the library's own choice in the same launches
    n: Annotated[int, Field(strict=True, ge=1)]  # launches


class Rule(Section, frozen=True):
    """An algorithm and where it is taken; ranges include both ends, and an omitted one matches all."""

    op: Literal["alltoall", "alltoallv", "*"]
    nodes: tuple[Whole, Whole] | None = None
    ranks_per_node: tuple[Whole, Whole] | None = None
    p: tuple[Whole, Whole] | None = None
    bytes: tuple[Whole, Whole] | None = None  # of a block; for ``MPI_Alltoallv`` the mean on the rank that sends most
    # of ``MPI_Alltoallv``: what the busiest rank sends or receives over the mean
    skew: tuple[Annotated[float, Field(ge=0, le=MOST)], Annotated[float, Field(ge=0, le=MOST)]] | None = None
    algorithm: AlgorithmSpec
    evidence: Evidence | None = None

    @model_validator(mode="after")
    def supported(self) -> Self:
        """Refuse ranges that are turned round, and another algorithm than the library's without evidence."""
        evidence = self.evidence.interval_us if self.evidence else None
        for ends in (self.nodes, self.ranks_per_node, self.p, self.bytes, self.skew, evidence):
            if ends and ends[0] > ends[1]:
                raise ValueError(f"a range [low, high], not [{ends[0]:g}, {ends[1]:g}]")
        if self.algorithm != PMPI and self.evidence is None:
            raise ValueError(f"a rule for {self.algorithm} has no evidence")
        return self


class SelectionTable(Section, frozen=True):
    """The rules, of which the first that matches is taken; without one the library's own algorithm runs."""

    schema_name: Literal["weft-tuning/1"] = Field(alias="schema")
    created: str | None = None
    platform: dict[str, Any] | None = None
    rules: Annotated[tuple[Rule, ...], Field(max_length=MOST_RULES)]
    record_crc32: Checksum = None

    @model_validator(mode="before")
    @classmethod
    def few(cls, given: Any) -> Any:
        """Refuse more rules than are read, with their number, before any of them is looked at."""
        several = given.get("rules") if is_table(given) else None
        if is_list(several) and len(several) > MOST_RULES:
            raise ValueError(f"it has {len(several):,} rules, and at most {MOST_RULES:,} are read")
        return given

    def write(self, path: Path) -> None:
        """Write the table as JSON. Raises DataError: the file cannot be written."""
        write_atomic(path, with_checksum(self.model_dump_json(by_alias=True, exclude_none=True, indent=1)).encode())


def read_selection(path: Path) -> SelectionTable:
    """Read a selection table, as the library will; DataError names what is no rule, and its key."""
    remedy = "correct it, or make it anew: weft tune --on FABRIC"
    return read_json_file(path, SelectionTable, "is no selection table", remedy)
