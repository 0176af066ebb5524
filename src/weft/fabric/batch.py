# SPDX-License-Identifier: BSD-3-Clause
"""The ``[batch]`` section of a fabric file: what this site requires of a job."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from weft.files.section import Section
from weft.text import one_line
from weft.units import Seconds


def one_word(text: str) -> str:
    """Check a name for the head of a job script, where nothing is quoted: one word, no shell characters.

    Raises
    ------
    ValueError
        The text has white space, quotes or shell characters, or begins with a dash.
    """
    if text.startswith("-") or any(char.isspace() or char in "\"'`$\\;&|<>" for char in text) or one_line(text) != text:
        raise ValueError("one word, without quotes or signs of the shell")
    return text


def one_line_each(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Check lines for the head of a job script: the shell would run what follows a line break.

    Raises
    ------
    ValueError
        A line has a line break or another control character.
    """
    for line in lines:
        if one_line(line) != line:
            raise ValueError(f"{line!r} has a line's end or another control character")
    return lines


Word = Annotated[str, AfterValidator(one_word)]


class BatchSection(Section, frozen=True):
    """What a job script of this site says besides the study.

    Attributes
    ----------
    partition, account
        Queue and account of the job, where the site has them.
    time_limit
        Longest job the site allows; a study that needs more goes on in a further job.
    starter
        ``srun`` starts the ranks by the scheduler, ``mpiexec`` by the MPI library's own starter.
    mpi
        The ``--mpi=`` of srun: ``pmix`` for Open MPI, ``pmi2`` for MPICH.
    options
        Further lines for the head of the script, without the ``#SBATCH`` (or the like) before them.
    setup
        Shell lines before the first launch: modules, environment.
    poll
        How often the scheduler is asked for the state of the job.
    cancel_on_interrupt
        Whether Ctrl-C ends the job as well; otherwise it goes on, and the same ``weft run`` follows it again.
    """

    partition: Word = ""
    account: Word = ""
    time_limit: Seconds = 3600.0
    starter: Literal["srun", "mpiexec"] = "srun"
    mpi: str = "pmix"
    options: Annotated[tuple[str, ...], AfterValidator(one_line_each)] = ()
    setup: tuple[str, ...] = ()
    poll: Seconds = 5.0
    cancel_on_interrupt: bool = False
