# SPDX-License-Identifier: BSD-3-Clause
"""The command ``weft``, and ``python -m weft``: a signal before or after its work ends it without a traceback. Until
:func:`start` has left signals to the system, Python prints one: so it imports little before.
"""

import os
import sys

from weft.cli.signals import code_after, end_at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def start() -> "NoReturn":
    """Run one command and exit."""
    end_at_once()
    from weft.cli.app import main  # as long as the rest of a start
    from weft.extras import leave_out_pandas

    leave_out_pandas()

    try:
        code = main()
    except KeyboardInterrupt as ended:  # a second one, while the first ended the command
        code = code_after(ended)
    leave(code)


def leave(code: int) -> "NoReturn":
    """Exit without taking apart what was imported: that takes 0.3 CPU-s, and 1.1 after an interrupted query."""
    import atexit
    from contextlib import suppress

    end_at_once()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody reads
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    start()
