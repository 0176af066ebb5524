# SPDX-License-Identifier: BSD-3-Clause
"""The ``[batch]`` section of a fabric file: what this site requires of a job."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from weft.fabric.kinds import KINDS, MPIEXEC
from weft.files.section import Section
from weft.text import one_line
from weft.units import Seconds


def without(signs: str, what: str) -> AfterValidator:
    """A check of a text for a job script: ValueError for a dash first, controls, white space of a word, or signs."""

    def check(text: str) -> str:
        if text.startswith("-") or re.search(signs, text) or one_line(text) != text:
            raise ValueError(what)
        return text

    return AfterValidator(check)


def one_line_each(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Check lines for the head of a job script; ValueError for line breaks, after which the shell runs the rest."""
    if odd := [line for line in lines if one_line(line) != line]:
        raise ValueError(f"{odd[0]!r} has a line's end or another control character")
    return lines


STARTERS = [*sorted({kind.starter for kind in KINDS.values() if kind.starter}), MPIEXEC]


def known_starter(name: str) -> str:
    """Return ``name`` if some kind of fabric starts ranks by it. Raises ValueError: No kind does."""
    if name and name not in STARTERS:
        raise ValueError(f"must be {' or '.join(STARTERS)}")
    return name


Word = Annotated[str, without(r"[\s\"'`$\\;&|<>]", "one word, without quotes or signs of the shell")]
Expression = Annotated[str, without(r"[\"'`\\$]", "one line without quotes, backslashes and dollars")]
STARTER_SCHEMA = WithJsonSchema({"enum": STARTERS, "type": "string"}, mode="validation")
Starter = Annotated[str, AfterValidator(known_starter), STARTER_SCHEMA]


class BatchSection(Section, frozen=True):
    """What a job script of this site says besides the study."""

    partition: Word = Field("", description="partition or queue of the job, where the site has them")
    account: Word = Field("", description="account that pays for the time (LSF: project, Flux: bank)")
    qos: Word = Field("", description="quality of service (LSF: service class); Slurm and LSF only")
    reservation: Word = Field("", description="reservation to run in (PBS: its queue); not on Flux")
    constraint: Expression = Field(
        "",
        description="property that the nodes must have, as the scheduler writes it: Slurm --constraint, PBS a resource "
        'of each chunk ("bigmem=true"), LSF a select[...], Flux a property',
    )
    time_limit: Seconds = Field(
        3600.0, description='longest job the site allows ("1 h"); what a study needs more goes on in a further job'
    )
    node_hours: float = Field(
        0.0, ge=0, description="largest job the site allows, nodes times hours; as with time_limit, further jobs go on"
    )
    starter: Starter = Field(
        "",
        description="what starts the ranks: the scheduler's own (srun on Slurm, flux run on Flux; the default there) "
        "or mpiexec, the MPI library's own (the default on PBS and LSF, which have none)",
    )
    mpi: Word = Field("pmix", description="how srun and flux run meet MPI: pmix for Open MPI, pmi2 for MPICH")
    options: Annotated[tuple[str, ...], AfterValidator(one_line_each)] = Field(
        (), description='further lines for the head of the script, without "#SBATCH": ["--hint=nomultithread"]'
    )
    setup: tuple[str, ...] = Field(
        (), description='shell lines run before the first launch: ["module load openmpi", "export UCX_TLS=rc,sm,self"]'
    )
    poll: Seconds = Field(5.0, description="how often the scheduler is asked for the state of the job")
    cancel_on_interrupt: bool = Field(
        False, description="whether Ctrl-C cancels the job as well; else it goes on, and the same command follows it"
    )
