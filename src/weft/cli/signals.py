# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command, and the exit code after one."""

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""From Ctrl-C; from a scheduler or a shutdown; from a closed terminal; from Ctrl-\\."""


def heed_signals() -> None:
    """End this command in order at these signals, unless one is handled, or ignored: nohup lets a run go on."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        return  # a program that calls Weft in a thread handles signals itself
    for number in HEEDED:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupted)


def interrupted(number: int, frame: "FrameType | None") -> None:
    """Raise KeyboardInterrupt with the number of the signal."""
    raise KeyboardInterrupt(number)


def end_at_once() -> None:
    """Leave these signals to the system, which ends this process without a word: nothing begins, or all is done."""
    for number in HEEDED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def code_after(ended: KeyboardInterrupt) -> int:
    """Exit code of a command that a signal ended, as a shell tells it: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (ended.args[0] if ended.args else signal.SIGINT)
