# SPDX-License-Identifier: BSD-3-Clause
"""Fuzz one reader, or all in turn, by Atheris (coverage guided); tests/fuzz/targets.py has the readers and the oracle.

    pip install atheris
    python bench/fuzz.py [nodeset | topology | ... | all] [--seconds 600] [--seed 1] [--keep build/fuzz]

Ends with exit code 1 at the first input that lets anything but a WeftError out; the input is then in the kept folder,
and `python bench/fuzz.py TARGET --again FILE` reads it again.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "fuzz")]


def readers() -> dict[str, Any]:
    """Readers by their names."""
    return import_module("targets").TARGETS


def fuzz(name: str, seconds: int, seed: int, keep: Path) -> None:
    """Fuzz one reader in this process; does not return."""
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["weft"]):
        target = readers()[name]
    corpus = keep / name
    corpus.mkdir(parents=True, exist_ok=True)
    # libFuzzer reads all seeds before it looks at the time; the 147 of a run's tables take ten minutes
    slow = name.startswith(("run-", "trace-"))
    seeds = random.Random(seed).sample(target.seeds, min(len(target.seeds), max(seconds, 4))) if slow else target.seeds
    for number, content in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(content)
    with tempfile.TemporaryDirectory(prefix="weft-fuzz") as scratch:

        def read(content: bytes) -> None:
            target(content, Path(scratch))

        # a run folder is read by five verbs, under Atheris's eyes ten times as slowly
        longest_s = 300 if name.startswith("run-") else 20
        words = [f"-max_total_time={seconds}", f"-seed={seed}", "-rss_limit_mb=3000", f"-timeout={longest_s}"]
        words += ["-max_len=20000", f"-artifact_prefix={corpus}/found-", str(corpus)]
        atheris.Setup([sys.argv[0], *words], read)
        atheris.Fuzz()


def main() -> int:
    """Fuzz, each reader in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", default="all")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--again", type=Path)
    given = parser.parse_args()
    if given.target != "all" and given.again is None:
        fuzz(given.target, given.seconds, given.seed, given.keep)
        return 0
    if given.again is not None:
        with tempfile.TemporaryDirectory(prefix="weft-fuzz") as scratch:
            print("read" if readers()[given.target](given.again.read_bytes(), Path(scratch)) else "refused")
        return 0
    failed: list[str] = []
    for name in readers():
        words = [name, "--seconds", str(given.seconds), "--seed", str(given.seed), "--keep", str(given.keep)]
        if subprocess.run([sys.executable, __file__, *words], check=False).returncode != 0:
            failed.append(name)
    print(f"{len(readers())} readers, {given.seconds} s each: {', '.join(failed) or 'nothing'} found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
