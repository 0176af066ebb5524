# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``exchange``, and arithmetic such as ``"512 * N"``; nothing else is evaluated."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.errors import StudyError
from weft.files.reading import is_list, is_table
from weft.files.section import FilePath, Section
from weft.kernel.steps import Explain
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AlgorithmSpec
from weft.study import MOST_CELLS, NUMBER, Series, SeriesOf, Study, as_written
from weft.units import Bytes, parse_bytes, parse_share, written

Number = int | Fraction
LONGEST = 200
LARGEST = 2**62
REMEDY = 'write integer arithmetic with + - * / // % ** ( ), such as "512 * N"'
NAMES, LISTED, MOST_N = ("N", "p", "r", "s"), ("n", "m"), 2**50
Call = Literal["A", "B", "C"]


def tree(text: str, names: Iterable[str]) -> ast.expr:
    """Parse ``text``; StudyError for anything but arithmetic over ``names``."""
    known = sorted(names)
    if len(text) > LONGEST:
        raise StudyError(f"an expression of {len(text)} characters is too long", f"keep it under {LONGEST} characters")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise StudyError(f'"{text}" is not an expression', REMEDY) from None
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and node.id not in known:
            raise StudyError(f'"{text}" uses the unknown name "{node.id}"', f"known names: {', '.join(known)}")
        if not isinstance(node, ALLOWED):
            raise StudyError(f'"{text}" holds something that is not arithmetic', REMEDY)
        if isinstance(node, ast.Constant) and type(node.value) not in (int, float):
            raise StudyError(f'"{text}" holds something that is not a number', REMEDY)
    return body


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent in range(63):
        return base ** int(exponent)
    raise OverflowError


OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b), ast.Mod: operator.mod, ast.Pow: _power,
}  # fmt: skip
ALLOWED = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.USub, ast.Load, *OPERATORS)


def value_of(node: ast.expr, names: Mapping[str, Number]) -> Fraction:
    """Value of a tree that :func:`tree` accepted; OverflowError past 2^62 at any step."""
    match node:
        case ast.Constant():
            # Through the text: Fraction(0.1) would be the nearest binary number to 1/10, and 10 * 0.1 not an integer.
            value = Fraction(str(node.value))
        case ast.Name():
            value = Fraction(names[node.id])
        case ast.UnaryOp():
            value = -value_of(node.operand, names)
        case ast.BinOp():
            value = OPERATORS[type(node.op)](value_of(node.left, names), value_of(node.right, names))
        case _:
            raise OverflowError
    if abs(value) > LARGEST or value.denominator > LARGEST:
        raise OverflowError
    return value


def evaluate(text: str, names: Mapping[str, Number]) -> int:
    """Integer value of ``text``; StudyError for an unknown name, no arithmetic, no integer, or one past 2^62."""
    shown = ", ".join(f"{name} = {value}" for name, value in names.items())
    try:
        value = value_of(tree(text, names), names)
    except ZeroDivisionError:
        raise StudyError(f'"{text}" divides by zero for {shown}', "change the expression") from None
    except (OverflowError, ValueError, RecursionError):
        raise StudyError(f'"{text}" is too large for {shown}', "keep it below 2^62") from None
    if value.denominator == 1:
        return int(value)
    what = f'"{text}" is {float(value):g} for {shown}, which is not an integer'
    raise StudyError(what, "use // to round it down")


def regular_sampling(n: int, ranks: int) -> tuple[int, int, int]:
    """Regular sampling of n vectors, n / p a rank and one more on the first n mod p: every ``width``-th is a sample.
    Returns this width, the number of samples of all ranks, and the most vectors that any rank can receive for any keys.
    """
    share, longer = divmod(n, ranks)
    width = max(1, math.ceil(math.ceil(n / ranks) / max(ranks, min(16 * ranks, 1024))))
    total = longer * ((share + 1) // width) + (ranks - longer) * (share // width)
    # between two splitters lie at most ceil(total / p) samples, each of which represents `width` vectors, and on
    # each rank up to `width` - 1 vectors after the last of them
    return width, total, min(n, width * math.ceil(total / ranks) + ranks * (width - 1))


def listed(*kinds: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of one of these kinds of value, or a list of them."""
    return {"anyOf": [*kinds, {"type": "array", "minItems": 1, "items": {"anyOf": list(kinds)}}]}


def each_of(series: dict[str, Any]) -> list[dict[str, Any]]:
    """A series for each value in lists of n or m, named ``grid-n4096-m8``; ValueError for more than a run may have."""
    keys = [key for key in LISTED if isinstance(series.get(key), list) and series[key]]
    if not keys or not isinstance(series.get("name"), str):
        return [series]
    count = math.prod(len(series[key]) for key in keys)
    if count > MOST_CELLS:
        raise ValueError(f"{' and '.join(keys)} make {count:,} series; at most {MOST_CELLS:,} keep a run readable")
    found: list[dict[str, Any]] = []
    for values in product(*(series[key] for key in keys)):
        own = dict(zip(keys, values, strict=True))
        # an expression in a name: ``512 * N`` as ``512xN``
        words = (re.sub(r"[^A-Za-z0-9.]+", "_", re.sub(r"\s*\*\s*", "x", str(value))) for value in values)
        name = "-".join([series["name"], *(key + word for key, word in zip(keys, words, strict=True))])
        found.append(series | own | {"name": name})
    return found


def parse_n(value: object) -> int | Literal["auto"]:
    """Parse the number of vectors in the global array; ValueError if it is neither "auto" nor in range."""
    if value == "auto":
        return "auto"
    if type(value) is int and 1 <= value <= MOST_N:
        return value
    raise ValueError('a whole number from 1 to 2^50, or "auto"')


def parse_m(value: object) -> str:
    """Parse the number of doubles in a vector, as an expression; ValueError if it is none, nor a number from 1."""
    if type(value) is int and value >= 1:
        return str(value)
    if not isinstance(value, str):
        raise ValueError('a whole number from 1, or an expression in N, p, r and s such as "512 * N"')
    try:
        tree(value, NAMES)
    except StudyError as problem:
        raise ValueError(f"{problem.what}; {problem.remedy}") from None
    return value


def _parse_array(value: object) -> int | float:
    return parse_share(value) if isinstance(value, str) and value.rstrip().endswith("%") else parse_bytes(value)


def _write_array(value: int | float) -> str:
    return f"{value * 100!r} %" if isinstance(value, float) else f"{value} B"


N = Annotated[int | Literal["auto"], *written(parse_n, as_written, listed(NUMBER, {"const": "auto"}))]
M = Annotated[str, *written(parse_m, str, listed(NUMBER, {"type": "string", "examples": ["512 * N"]}))]
Array = Annotated[int | float, *written(_parse_array, _write_array, {"type": "string", "examples": ["1 %", "256 MiB"]})]


class ExchangeSection(Section, frozen=True):
    """``[exchange]``: what is sorted, and which calls are timed."""

    data: Literal["contention", "uniform", "skewed", "reverse", "file"] = Field(
        "contention", description="contention, uniform, skewed, reverse or file"
    )
    file: FilePath | None = Field(None, description="only for data = file: a .npy of n doubles")
    calls: Annotated[tuple[Call, ...], Field(min_length=1, max_length=3)] = Field(
        ("A", "B", "C"), description="of A MPI_Alltoall(int), B MPI_Alltoallv(int), C MPI_Alltoallv(m-vector)"
    )
    algorithm: AlgorithmSpec = Field(
        DEFAULT,
        description='of A, B and C: "default" (the library\'s own), or one of Weft\'s, such as "node.multi{nl=4}"',
    )

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse keys that would have no effect."""
        if (self.data == "file") != (self.file is not None):
            raise ValueError(f'data = "{self.data}" {"needs" if self.file is None else "does not use"} the key file')
        if self.data != "contention" and "calls" in self.model_fields_set:
            why = f'a sort of "{self.data}" times its own steps'
            raise ValueError(f'calls are chosen for data = "contention" only; {why}')
        if len(set(self.calls)) != len(self.calls):
            raise ValueError("calls lists one call twice")
        return self


class ExchangeSeries(Series, frozen=True):
    """A sweep over N, ranks per node, n and m."""

    n: N = Field("auto", description='m-vectors in the global array: a number, a list of them, or "auto"')
    array: Array | None = Field(None, description='with n = "auto": a size, or a share of a node\'s memory: "1 %"')
    array_most: Bytes | None = Field(None, description='with n = "auto": the largest array wanted: "256 MiB"')
    m: M = Field(
        "1",
        description='doubles in a vector: a number, an expression such as "512 * N" in N nodes, p ranks, r ranks '
        "per node, and s, how many times the ranks of the series' first cell, or a list of these",
    )

    @model_validator(mode="after")
    def sized(self) -> Self:
        """Refuse a series that gives n twice or not at all."""
        given = self.array is not None or self.array_most is not None
        if self.n == "auto" and not given:
            raise ValueError('n = "auto" needs array (such as "1 %") or array_most (such as "256 MiB")')
        if self.n != "auto" and given:
            raise ValueError(f'array and array_most size n = "auto", but n = {self.n} is given')
        return self

    def sized_by(self, share: float) -> Self:
        """With arrays of a share of their size, if Weft chooses it: ``n = "auto"``."""
        sizes = {"array": self.array, "array_most": self.array_most}
        scaled = {key: type(size)(size * share) for key, size in sizes.items() if size is not None}
        return self.model_copy(update=scaled) if self.n == "auto" else self


class ExchangeStudy(Study, frozen=True):
    """A study of the kernel ``exchange``."""

    kernel: Literal["exchange"] = Field(description="exchange")
    explain: Explain = True
    exchange: ExchangeSection = Field(ExchangeSection(), description="[exchange]")  # pyright: ignore[reportCallIssue]
    series: SeriesOf[ExchangeSeries]

    @model_validator(mode="before")
    @classmethod
    def one_series_a_value(cls, tree: Any) -> Any:
        """Split series with lists of n or m into one series for each value."""
        if not is_table(tree):
            return tree
        given = tree.get("series")
        if not is_list(given) or len(given) > MOST_CELLS:
            return tree
        spread: list[Any] = []
        for series in given:
            spread += each_of(series) if is_table(series) else [series]
            if len(spread) > MOST_CELLS:
                raise ValueError(f"lists of n and m make over {MOST_CELLS:,} series, which no run has room for")
        return tree | {"series": spread}
