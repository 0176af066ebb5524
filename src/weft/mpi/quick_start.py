# SPDX-License-Identifier: BSD-3-Clause
"""Components of Open MPI that only delay a start on one host, and the settings that leave them out.

The OFI BTL of Open MPI 5 sleeps for a second in ``MPI_Init``, and looks for devices that no message on one host uses.
Without a fast adapter, ``pml = ob1`` is what the library chooses anyway, after opening all others.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from weft.host import read
from weft.mpi.library import OPEN_MPI, Library, parse_library

PREFIX = "OMPI_MCA_"
DELAYING: Mapping[str, frozenset[str]] = {"btl": frozenset({"ofi"})}
WITHOUT_ADAPTER: Mapping[str, frozenset[str]] = {"btl": frozenset({"ofi", "openib", "usnic"})}
ADAPTERS = ("infiniband", "cxi", "hfi1", "infiniband_verbs", "cxi_user", "usnic_verbs")
"""Classes of devices (/sys/class) that another transport than shared memory may use, even between ranks of a host."""
DELAY_S = 1.0  # that the sleep takes


def waiting_component(version: str, settings: Mapping[str, str], init_s: float) -> str:
    """The component that only waits in MPI_Init, ``btl/ofi``; empty if left out, or if the fastest rank did not."""
    library = parse_library(version)
    chosen = settings.get(f"{PREFIX}btl", settings.get("btl", "^"))
    names = set(chosen.removeprefix("^").split(","))
    taken = ("ofi" in names) != chosen.startswith("^")
    return "btl/ofi" if (library.family, library.major) == (OPEN_MPI, 5) and taken and init_s >= DELAY_S else ""


def settings_without_delay(
    library: Library, starter: Path, environment: Mapping[str, str], root: Path = Path("/")
) -> dict[str, str]:
    """Variables that start Open MPI on this host alone without what only delays it; what the user sets stays."""
    if library.family != OPEN_MPI:
        return {}
    user = _file_values(Path(environment.get("HOME", "/")) / ".openmpi/mca-params.conf")
    places = (root / "etc/openmpi/openmpi-mca-params.conf", starter.parent.parent / "etc/openmpi-mca-params.conf")
    site = _file_values(places[0]) | _file_values(places[1])
    bare = not any((root / "sys/class" / name).exists() for name in ADAPTERS)
    found: dict[str, str] = {}
    for framework, names in (WITHOUT_ADAPTER if bare else DELAYING).items():
        given = site.get(framework, "^")
        if given.startswith("^") and not _is_set(framework, environment, user):
            found[PREFIX + framework] = "^" + ",".join(sorted(names | set(filter(None, given[1:].split(",")))))
    excluded = site.get("pml", "^")
    wished = any(_is_set(each, environment, user) for each in ("pml", "mtl"))  # a chosen mtl wants pml = cm
    if bare and excluded.startswith("^") and "ob1" not in excluded and not wished:
        found[PREFIX + "pml"] = "ob1"
    return found


def _is_set(framework: str, environment: Mapping[str, str], user: Mapping[str, str]) -> bool:
    return PREFIX + framework in environment or framework in user


def _file_values(path: Path) -> dict[str, str]:
    """Variables of a parameter file of Open MPI: lines of ``name = value``."""
    return dict(re.findall(r"(?m)^[ \t]*(\w+)[ \t]*=[ \t]*(\S+)", read(path)))
