# SPDX-License-Identifier: BSD-3-Clause
"""Tests of others with and without Weft: MPICH's, Open MPI's or mpi4py's, from a folder that you name.

    python bench/foreign_tests.py DIR [--force "node.multi{nl=2}" ...] [-- STARTER AND ITS ARGUMENTS]

Every executable file of the folder, and every file test_*.py (run by this Python), runs alone and under `weft exec`
with each algorithm. Exit codes and lines of output must be the same; the order of lines is that of the ranks, and does
not count. Exit code 1 if a program differs.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

STARTER = ("mpirun", "-n", "4")
ALGORITHMS = ("pmpi", "flat.window{w=8}", "bruck{r=2}", "node.multi{nl=2}")
LIMIT_S = 300
TIMED_OUT = 124


def programs_of(folder: Path) -> list[list[str]]:
    """The command of each test of a folder, by name."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    scripts = [path for path in files if path.suffix == ".py" and path.name.startswith("test_")]
    binaries = [path for path in files if path.suffix == "" and os.access(path, os.X_OK)]
    return [*([str(path.resolve())] for path in binaries), *([sys.executable, str(path.resolve())] for path in scripts)]


def outcome_of(command: list[str], folder: Path) -> tuple[int, Counter[str]]:
    """Exit code, and the lines of output with their number."""
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", cwd=folder, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return TIMED_OUT, Counter()
    return done.returncode, Counter(done.stdout.splitlines())


def differing(folder: Path, starter: list[str], algorithms: list[str]) -> list[str]:
    """A line for each program that differs under an algorithm; prints one for each program."""
    found: list[str] = []
    for program in programs_of(folder):
        name, alone = Path(program[-1]).name, outcome_of([*starter, *program], folder)
        for algorithm in algorithms:
            weft = [sys.executable, "-m", "weft", "exec", "--force", algorithm, "--", *starter, *program]
            code, lines = outcome_of(weft, folder)
            if (code, lines) != alone:
                found.append(f"{name} under {algorithm}: exit code {code}, alone {alone[0]}")
        print(f"{name}: exit code {alone[0]}, {sum(alone[1].values())} lines")
    return found


def main() -> int:
    """Compare every program; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--force", nargs="+", default=list(ALGORITHMS))
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])
    found = differing(given.folder, words[end + 1 :] or list(STARTER), given.force)
    print("\n".join(found) or "no program differs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
