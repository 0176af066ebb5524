# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the runs kept in ``tests/data/runs``, as text: ``python tests/made/kept.py`` writes them anew.

The runs were measured once by real ranks (`weft run`, two cores, Open MPI 4.1.4). A change that moves a figure in their
tables shows in the difference of the text.
"""

import json
import shutil
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

RUNS = Path(__file__).parents[1] / "data" / "runs"


def kept_runs() -> list[str]:
    """Names of the kept runs: one of each kernel."""
    return sorted(path.name for path in RUNS.iterdir())


def copy_of(name: str, into: Path) -> Path:
    """A copy of a kept run, without its tables' text."""
    return Path(shutil.copytree(RUNS / name, into / name, ignore=shutil.ignore_patterns("tables.txt")))


def tables_of(run: Path) -> str:
    """All tables of a run as text: a heading for each, then its columns, then a line a row."""
    lines: list[str] = []
    for path in sorted((run / "tables").glob("*.parquet")):
        table = pq.read_table(path)
        lines += [f"# {path.stem}", json.dumps({field.name: str(field.type) for field in table.schema})]
        lines += [json.dumps([rounded(value) for value in row.values()], default=str) for row in table.to_pylist()]
    return "\n".join(lines) + "\n"


def rounded(value: object) -> object:
    """A number to 12 digits: threads add up in any order, so the last digits of a sum differ."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def make_tables_of(run: Path) -> str:
    """Convert a run, make its tables, and return them as text."""
    from weft.run.refresh import make_tables
    from weft.store.folder import RunFolder

    make_tables(RunFolder(run))
    return tables_of(run)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in kept_runs():
            (RUNS / name / "tables.txt").write_text(make_tables_of(copy_of(name, Path(folder))))
