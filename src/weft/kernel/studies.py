# SPDX-License-Identifier: BSD-3-Clause
"""Reading study files: each by the rules of the kernel that it names."""

from pathlib import Path
from typing import Any

from weft.errors import StudyError
from weft.files.reading import locate, read_toml, validate
from weft.kernel.registry import measured_kernels
from weft.study import Study


def make_study(tree: dict[str, Any], source: str) -> Study:
    """Make the study of a TOML tree, by the rules of the kernel it names.

    Raises
    ------
    StudyError
        A mistake: with ``source``, key, value and what is allowed.
    """
    kernels = measured_kernels()
    name = tree.get("kernel")
    if not isinstance(name, str) or name not in kernels:
        seen = "is missing" if name is None else f"= {name!r} is not known"
        raise StudyError(f'{source}: the key "kernel" {seen}', f"kernels: {', '.join(kernels)}")
    return validate(kernels[name].study, tree, source, StudyError)


def load_study(given: str | Path) -> Study:
    """Read a study file, by path or by the name of a shipped one (``contention``).

    Raises
    ------
    StudyError
        No such file, no TOML, or a mistake in it: with file, key, value and what is allowed.
    """
    path = locate(given, "studies", StudyError)
    text, tree = read_toml(path, StudyError)
    return make_study(tree, str(path)).read_from(path, text)
