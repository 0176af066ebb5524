# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command in order, whatever its verb: what it started ends with it, and what is done is kept."""

import signal
import threading
from types import FrameType

LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""From a scheduler or a shutdown; from a closed terminal; from Ctrl-\\."""


def heed_signals() -> None:
    """Treat these signals like Ctrl-C from now on, but one that is ignored: nohup lets a run outlive its terminal."""
    if threading.current_thread() is not threading.main_thread():
        return  # a program that calls Weft in a thread handles signals itself
    for number in LIKE_CTRL_C:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)


def interrupted(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt."""
    raise KeyboardInterrupt
