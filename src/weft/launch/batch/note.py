# SPDX-License-Identifier: BSD-3-Clause
"""What a run folder notes of the job that works for it: ``job.json``."""

import re
from pathlib import Path

from weft.errors import DataError
from weft.files.atomic import read_json, try_remove, write_json
from weft.launch.batch.scheduler import JobState, Scheduler

JOB = re.compile(r"[^\s-]\S{0,199}")
"""A job's id. It becomes an argument of the scheduler's commands, and must not be taken for one of their options."""


class JobNote:
    """The note of a run folder."""

    def __init__(self, folder: Path, scheduler: Scheduler) -> None:
        self.path = folder / "job.json"
        self.scheduler = scheduler

    def write(self, job: str) -> None:
        """Note a job; DataError if the folder cannot be written."""
        write_json(self.path, {"scheduler": self.scheduler.name, "job": job, **self._place()})

    def remove(self) -> None:
        """Forget the job."""
        try_remove(self.path)

    def left(self) -> str | None:
        """Id of a job that an interrupted weft left in the queue for this folder, according to the scheduler.

        A copy of a folder has the note, too, yet the job works for the original: following it would wait for results
        that never come, and might cancel it.
        """
        if not self.path.exists():
            return None
        try:
            noted = read_json(self.path)
        except DataError:  # incomplete: the job's id is unknown
            return None
        job = noted.get("job")
        if not isinstance(job, str) or not JOB.fullmatch(job) or noted.get("scheduler") != self.scheduler.name:
            return None
        # a login node may see the same folder by another path, and a moved folder is still the same one
        here = self._place()
        if "folder" in noted and all(noted.get(key) != value for key, value in here.items()):
            return None
        return job if self.scheduler.state(job) is not JobState.ENDED else None

    def _place(self) -> dict[str, str | int]:
        folder = self.path.parent
        return {"folder": str(folder.resolve()), "inode": folder.stat().st_ino}
