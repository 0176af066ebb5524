# SPDX-License-Identifier: BSD-3-Clause
"""The command ``weft``, and ``python -m weft``."""

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

from weft.cli.app import main


def start() -> NoReturn:
    """Run one command and exit."""
    leave(main())


def leave(code: int) -> NoReturn:
    """Exit without taking apart what was imported: that takes 0.3 CPU-s, and 1.1 after an interrupted query."""
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    start()
