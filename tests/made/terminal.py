# SPDX-License-Identifier: BSD-3-Clause
"""What a command that was started in a terminal inherits."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Those that end a command."""


@contextmanager
def terminal_signals() -> Iterator[None]:
    """Handlers of signals as a shell hands them on, and those of the tests afterwards."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
