# SPDX-License-Identifier: BSD-3-Clause
"""The report reads tables and draws: it imports no engine and nothing of the analysis that computes."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft.report

REPORT = Path(weft.report.__file__).parent
ENGINES = {"ibis", "duckdb", "pyspark", "scipy", "statistics", "pandas"}
#: Functions that make one number of many, or a distribution: what a table must say already.
STATISTICS = {
    "median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile", "mean", "nanmean", "average",
    "std", "nanstd", "var", "nanvar", "fmean", "stdev", "quantiles",
}  # fmt: skip
#: What the report may import of the analysis: the types of its tables, and for report/compare, whose runs have no
#: folder in common, what was compared.
TABLES, COMPARED = "weft.analyse.tables", "weft.analyse.compare"


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module or name that a file imports, lazily or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def faults(path: Path, source: str) -> list[str]:
    """What a file of the report must not do."""
    tree, found = ast.parse(source), list[str]()
    for name in imported(tree):
        compared = path.parent.name == "compare" and name.startswith(f"{COMPARED}.")
        if name.partition(".")[0] in ENGINES or (
            name.startswith("weft.analyse") and not (name.startswith(f"{TABLES}.") or compared)
        ):
            found.append(f"{path.name} imports {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in STATISTICS:
            found.append(f"{path.name}:{node.lineno} computes {node.attr}")
        if isinstance(node, ast.Subscript) and re.fullmatch(r"len\(.*\) // 2", ast.unparse(node.slice)):
            found.append(f"{path.name}:{node.lineno} takes the middle of a list")
    return found


@pytest.mark.parametrize("path", sorted(REPORT.rglob("*.py")), ids=lambda path: str(path.relative_to(REPORT)))
def test_a_file_of_the_report_computes_nothing(path: Path) -> None:
    assert faults(path, path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import ibis",
        "def f():\n    from duckdb import connect",
        "from weft.analyse.thresholds.changes import find_steps_and_bends",
        "from weft.analyse import make",
        "import numpy as np\nmiddle = np.median([1])",
        "import statistics",
        "middle = sorted(rows)[len(rows) // 2]",
        "from weft.analyse.compare.comparison import compare",
    ],
)
def test_what_computes_is_seen(source: str) -> None:
    assert faults(Path("report/figures/planted.py"), source)


def test_importing_the_report_loads_no_engine() -> None:
    modules = [
        ".".join(("weft", "report", *path.relative_to(REPORT).with_suffix("").parts))
        for path in sorted(REPORT.rglob("*.py"))
        if path.name != "__init__.py"
    ]
    code = "import importlib, sys\n"
    code += f"for name in {modules!r}: importlib.import_module(name)\n"
    code += f"print(sorted(set(sys.modules) & {ENGINES - {'statistics'}!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "[]"
