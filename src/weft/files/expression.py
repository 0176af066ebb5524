# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic in study files, such as ``"512 * N"``; nothing else is evaluated."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from weft.errors import StudyError

Number = int | Fraction
LONGEST = 200
LARGEST = 2**62
OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
}
ALLOWED = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.USub, ast.Load, ast.Pow, *OPERATORS)
REMEDY = 'write integer arithmetic with + - * / // % ** ( ), such as "512 * N"'


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


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """``base ** exponent``; OverflowError if the exponent is not an integer from 0 to 62."""
    if exponent in range(63):
        return base ** int(exponent)
    raise OverflowError


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
        case ast.BinOp(op=ast.Pow()):
            value = power(value_of(node.left, names), value_of(node.right, names))
        case ast.BinOp():
            value = OPERATORS[type(node.op)](value_of(node.left, names), value_of(node.right, names))
        case _:
            raise OverflowError
    if abs(value) > LARGEST or value.denominator > LARGEST:
        raise OverflowError
    return value


def evaluate(text: str, names: Mapping[str, Number]) -> int:
    """Integer value of ``text``; StudyError for an unknown name, no arithmetic, no integer, or one past 2^62."""
    try:
        value = value_of(tree(text, names), names)
    except ZeroDivisionError:
        raise StudyError(f'"{text}" divides by zero for {shown(names)}', "change the expression") from None
    except (OverflowError, ValueError, RecursionError):
        raise StudyError(f'"{text}" is too large for {shown(names)}', "keep it below 2^62") from None
    if value.denominator == 1:
        return int(value)
    what = f'"{text}" is {float(value):g} for {shown(names)}, which is not an integer'
    raise StudyError(what, "use // to round it down")


def shown(names: Mapping[str, Number]) -> str:
    """The names with their values, for a message."""
    return ", ".join(f"{name} = {value}" for name, value in names.items())
