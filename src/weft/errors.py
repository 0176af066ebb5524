# SPDX-License-Identifier: BSD-3-Clause
"""The one exception tree: what a user is told when something cannot go on."""


class WeftError(Exception):
    """A failure that is told to the user without a traceback.

    Parameters
    ----------
    what
        What happened, with the value that was seen.
    remedy
        The next thing to do, as a command or a change to a file.
    """

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what}\n  -> {self.remedy}" if self.remedy else self.what


class StudyError(WeftError):
    """The study cannot be used as it is written: a user's mistake."""

    exit_code = 2


class FabricError(WeftError):
    """The fabric file or dump cannot be used as it is written: a user's mistake."""

    exit_code = 2


class LaunchError(WeftError):
    """Ranks could not be started, or ended badly."""


class DataError(WeftError):
    """A run folder, cell or table cannot be read or written."""


class CompareError(WeftError):
    """Runs cannot be compared as asked: a user's mistake, told apart from a gate that failed."""

    exit_code = 2
