# SPDX-License-Identifier: BSD-3-Clause
"""Sizes, rates and times as people write them: "256 KiB", "3.5 GB/s", "1.2 us" (METHOD 25). Sizes take binary prefixes
only and rates decimal ones only, so that one spelling never means two numbers. A bare number is refused: nobody can
tell later whether 5 meant seconds or milliseconds.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
DECIMAL_SIZES = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
RATES = {"B/s": 1, "kB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9, "TB/s": 10**12}
BIT_RATES = {"kbit/s": 125, "Mbit/s": 125_000, "Gbit/s": 125_000_000, "Tbit/s": 125_000_000_000}
TIMES = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "µs": Decimal("1e-6"), "ms": Decimal("1e-3"), "s": Decimal(1),
    "min": Decimal(60), "h": Decimal(3600),
}  # fmt: skip
NUMBER = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,3})?)\s*(\S.*?)?\s*", re.ASCII)
MOST_BYTES = 2**62


def split(text: object, what: str, example: str) -> tuple[Decimal, str]:
    """Split ``"3.5 GB/s"`` into number and unit; ValueError says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f'a {what} is a number and its unit in quotes, such as "{example}"')
    found = NUMBER.fullmatch(text)
    if not found and text.lstrip().startswith("-") and NUMBER.fullmatch(text.lstrip()[1:]):
        raise ValueError(f'a {what} is not negative: write for example "{example}"')
    if not found:
        raise ValueError(f'no {what}: write a number and its unit, such as "{example}"')
    if not found[2]:
        raise ValueError(f'this {what} has no unit: write for example "{example}"')
    return Decimal(found[1]), found[2]


def parse_bytes(text: object) -> int:
    """Bytes of a size such as ``"256 KiB"``; ValueError also for a decimal prefix, with what may have been meant."""
    number, unit = split(text, "size", "256 KiB")
    if unit in DECIMAL_SIZES:
        meant, other = number * DECIMAL_SIZES[unit], unit[0].upper() + "iB"
        binary = f'sizes take binary prefixes: "{number} {other}" for powers of 1024'
        raise ValueError(f'{binary}, or "{meant.normalize():f} B" if powers of 1000 are meant')
    if unit not in SIZES:
        raise ValueError(f'"{unit}" is no unit of a size: {", ".join(SIZES)}')
    size = number * SIZES[unit]
    if size > MOST_BYTES:
        raise ValueError("larger than any memory (2^62 B)")
    if size != int(size):
        raise ValueError(f"is {size.normalize():f} B, which is no whole number of bytes")
    return int(size)


def parse_rate(text: object) -> float:
    """Bytes per second of a rate such as ``"3.5 GB/s"`` (10^9) or ``"10 Gbit/s"``; ValueError."""
    number, unit = split(text, "rate", "3.5 GB/s")
    factors = RATES | BIT_RATES
    if unit not in factors:
        raise ValueError(f'"{unit}" is no unit of a rate: {", ".join(factors)} (GB/s = 10^9 bytes a second)')
    rate = float(number * factors[unit])
    if not 0 < rate < 1e18:
        raise ValueError("a rate must be above 0 and below 1e9 GB/s")
    return rate


def parse_seconds(text: object) -> float:
    """Seconds of a time such as ``"1.2 us"``. Raises ValueError: no time, or another unit."""
    number, unit = split(text, "time", "5 s")
    if unit not in TIMES:
        raise ValueError(f'"{unit}" is no unit of a time: {", ".join(name for name in TIMES if name.isascii())}')
    seconds = float(number * TIMES[unit])
    if seconds > 1e9:
        raise ValueError("longer than 30 years")
    return seconds


def parse_share(text: object) -> float:
    """Share (0 to 1) of a percentage such as ``"1 %"``."""
    number, unit = split(text, "share", "1 %")
    if unit != "%" or not 0 < number <= 100:
        raise ValueError('a share must be above 0 and at most 100 %: "1 %"')
    return float(number / 100)


def written(parse: Callable[[object], Any], write: Callable[[Any], Any], schema: dict[str, Any]) -> tuple[Any, ...]:
    """Metadata of a pydantic type: how it is read from files, written (``plan.json``, too), and its JSON schema."""
    return PlainValidator(parse), PlainSerializer(write, return_type=Any), WithJsonSchema(schema)


def quoted(parse: Callable[[object], Any], unit: str, example: str) -> tuple[Any, ...]:
    """Metadata of a pydantic type that is written with its unit."""
    return written(parse, lambda value: f"{value!r} {unit}", {"type": "string", "examples": [example]})


Bytes = Annotated[int, *quoted(parse_bytes, "B", "256 KiB")]
Rate = Annotated[float, *quoted(parse_rate, "B/s", "3.5 GB/s")]
Seconds = Annotated[float, *quoted(parse_seconds, "s", "1.2 us")]
