# SPDX-License-Identifier: BSD-3-Clause
"""The only room that starts processes: one launcher for each kind of fabric, and building the kernels."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from weft.errors import LaunchError
from weft.launch.launcher import Launcher, LaunchRequest, Outcome

__all__ = ["LaunchRequest", "Launcher", "Outcome", "launcher_for"]

# Each module offers make_launcher(fabric, mpicxx, say) -> Launcher; imported only when its kind is asked for.
MODULES = {
    "local": "weft.launch.local",
    "virtual": "weft.launch.virtual",
    "simulated": "weft.launch.simulated",
    "slurm": "weft.launch.batch",
    "pbs": "weft.launch.batch",
    "lsf": "weft.launch.batch",
    "flux": "weft.launch.batch",
}


def launcher_for(fabric: Any, mpicxx: str | None = None, say: Callable[[str], None] = lambda _: None) -> Launcher:
    """Return what starts ranks on a fabric, by its kind.

    Parameters
    ----------
    fabric
        A :class:`weft.fabric.Fabric`.
    mpicxx
        Compiler wrapper that the user chose, or None to search.
    say
        Takes one line before something that lasts seconds.

    Raises
    ------
    LaunchError
        The kind has no launcher, or what it needs is not there.
    """
    try:
        make = import_module(MODULES[fabric.kind]).make_launcher
    except (KeyError, ImportError, AttributeError) as error:
        if isinstance(error, ImportError) and error.name and not error.name.startswith("weft.launch"):
            raise  # a launcher that is there, but broken, must not look like one that is missing
        raise LaunchError(
            f"this Weft cannot start ranks on a fabric of kind {fabric.kind!r}",
            f"kinds that can: {', '.join(MODULES)}",
        ) from error
    return make(fabric, mpicxx, say)
