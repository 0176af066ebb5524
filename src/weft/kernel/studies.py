# SPDX-License-Identifier: BSD-3-Clause
"""Reading of study files, each with the model of the kernel that it names."""

from pathlib import Path
from typing import Any

from weft.errors import StudyError
from weft.files.reading import locate, read_toml, validate
from weft.kernel.registry import measured_kernels
from weft.study import Study


def make_study(tree: dict[str, Any], source: str) -> Study:
    """Make the study of a TOML tree, with the model of the kernel it names.

    Raises
    ------
    StudyError
        A key is wrong; names ``source``, key, value and what is allowed.
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
        There is no such file, it is not TOML, or a key is wrong; names file, key, value and what is allowed.
    """
    path = locate(given, "studies", StudyError)
    text, tree = read_toml(path, StudyError)
    return make_study(tree, str(path)).read_from(path, text)
