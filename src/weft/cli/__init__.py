# SPDX-License-Identifier: BSD-3-Clause
"""The command line: the verbs, no logic.
Ctrl-C while the verbs are imported, or a second one while the first ends a command, prints no traceback.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # nothing more is imported before `weft.cli.signals` is used
    from types import TracebackType
    from typing import Any


def _tell_mistakes_only(kind: type[BaseException], error: BaseException, at: "TracebackType | None") -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, at)


def _in_a_destructor(given: "Any") -> None:
    """Drop an interrupt that came in a destructor or at the exit, where no exception goes anywhere: it comes again."""
    if not issubclass(given.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(given)
    elif not sys.is_finalizing():
        import _thread
        import signal
        import threading

        heeded = (each for each in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(each)))
        threading.Timer(0.01, _thread.interrupt_main, (next(heeded, signal.SIGINT),)).start()


sys.excepthook, sys.unraisablehook = _tell_mistakes_only, _in_a_destructor
