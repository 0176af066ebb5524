# SPDX-License-Identifier: BSD-3-Clause
"""Which variables a stored plan may set for the ranks: a run folder may come from anybody.

Only knobs of the communication libraries pass, and of those none that names a program, a library or a file: a name with
the right prefix is not enough, since ``OMPI_MCA_mca_base_component_path`` and ``FI_PROVIDER_PATH`` load code, and
``OMPI_MCA_plm_rsh_agent`` runs it. Variables of starters and schedulers (``PRTE_MCA_``, ``HYDRA_``, ``SLURM_``) do not
pass: they rule which processes start, and where.
"""

import re
from collections.abc import Mapping

PREFIXES = (
    "OMPI_MCA_", "PMIX_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_", "FI_", "MV2_", "MVP_", "I_MPI_", "WEFT_SMPI_",
    "WEFT_THREADS",
)  # fmt: skip
NAME = re.compile(r"[A-Z][A-Za-z0-9_]{0,99}")
#: A number, a size, a word or a list of them. No path, and nothing that a shell would see.
VALUE = re.compile(r"[A-Za-z0-9_.,:^+-]{0,200}")
LOADS = re.compile(
    r"path|file|dir|prefix|agent|exec|launch|command|cmd|shell|wrapper|preload|librar|lib_|plugin|module|component|"
    r"conf|env|debug|script|hook|spawn|plm|rsh|(?<!progr)ess|log|dump|output",
    re.IGNORECASE,
)


def check_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables, after each was found to be a knob of a communication library.

    Raises ValueError: one is not; it is named.
    """
    for name, value in settings.items():
        known = next((prefix for prefix in PREFIXES if name.startswith(prefix)), None)
        if known is None or not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no knob of an MPI library: names begin with {', '.join(PREFIXES)}")
        if LOADS.search(name.removeprefix(known)):
            raise ValueError(f"{name} may load or start something: it is not taken from a run folder")
        if not VALUE.fullmatch(value):
            raise ValueError(f"{name} = {value[:60]!r} is no number, size or word")
    return dict(settings)


def setting_of(knob: str, value: int) -> dict[str, str]:
    """The environment variable that sets a knob, by the library's own name of it.

    Open MPI reads its MCA variables with the prefix ``OMPI_MCA_``; MPICH, UCX, libfabric, MVAPICH2 and Intel MPI read
    theirs as they are. Raises ValueError: it is no knob that a run folder may set (`check_settings`).
    """
    name = knob if knob.startswith(PREFIXES) else f"OMPI_MCA_{knob}"
    return check_settings({name: str(value)})
