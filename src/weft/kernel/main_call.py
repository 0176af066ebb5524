# SPDX-License-Identifier: BSD-3-Clause
"""The main call of a run."""

from collections.abc import Collection

from weft.kernel.registry import kernel_named


def main_call(kernel: str, calls: Collection[str]) -> str:
    """The kernel's main call, or the last one measured if the run has not measured it."""
    main = kernel_named(kernel).main
    return main if main in calls or not calls else max(calls)
