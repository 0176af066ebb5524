# SPDX-License-Identifier: BSD-3-Clause
"""Other programs, started for what they print."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_program(
    command: Sequence[str | Path],
    *,
    text: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit code, fed with `text`; OSError and TimeoutExpired are not caught."""
    return subprocess.run(
        command, input=text, env=env, cwd=folder, timeout=timeout_s, capture_output=True, encoding="utf-8",
        errors="replace", check=False,
    )  # fmt: skip
