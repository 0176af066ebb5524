# SPDX-License-Identifier: BSD-3-Clause
"""The call that a run is about."""

from collections.abc import Collection

from weft.kernel.registry import kernel_named


def main_call(kernel: str, calls: Collection[str]) -> str:
    """The call that a kernel is known by, or the last of those that were measured where it is none of them.

    Parameters
    ----------
    kernel
        Name of the kernel.
    calls
        Calls in the tables of the run.
    """
    main = kernel_named(kernel).main
    return main if main in calls or not calls else max(calls)
