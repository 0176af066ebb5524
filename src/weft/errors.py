# SPDX-License-Identifier: BSD-3-Clause
"""The exception tree: every error that a user sees."""


class WeftError(Exception):
    """A failure that is shown to the user without a traceback."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy

    def __str__(self) -> str:
        return f"{self.what}\n  -> {self.remedy}" if self.remedy else self.what


class StudyError(WeftError):
    """The study cannot be used as written: a user's mistake."""

    exit_code = 2


class FabricError(WeftError):
    """The fabric file or dump cannot be used as written: a user's mistake."""

    exit_code = 2


class LaunchError(WeftError):
    """Ranks could not be started, or ended badly."""


class DataError(WeftError):
    """A run folder, cell or table cannot be read or written."""


class NotThereError(DataError):
    """A run or trace that a command names is not there, or is something else: a user's mistake."""

    exit_code = 2


class CompareError(WeftError):
    """Runs cannot be compared as requested: a user's mistake, unlike a failed gate."""

    exit_code = 2


class PathError(WeftError):
    """A path that cannot even be looked at: in a folder of somebody else, or with a name that is too long."""

    exit_code = 2
