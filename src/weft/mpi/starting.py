# SPDX-License-Identifier: BSD-3-Clause
"""How each family of MPI libraries starts ranks: arguments of ``mpiexec`` and environment variables.

Open MPI 5 (PRRTE), Open MPI 4 (ORTE) and MPICH (hydra) are tested; Intel MPI and MVAPICH follow their manuals, as
hydra's relatives, and were never run here. At the end: components of Open MPI that only delay a start on one host. The
OFI BTL of Open MPI 5 sleeps for a second in ``MPI_Init``, and looks for devices that no message on one host uses.
Without a fast adapter, ``pml = ob1`` is what the library chooses anyway, after opening all others.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.host import read
from weft.mpi.library import INTEL, MVAPICH, OPEN_MPI, Library, parse_library

AS_ROOT = {f"{prefix}_ALLOW_RUN_AS_ROOT{confirm}": "1" for prefix in ("OMPI", "PRTE") for confirm in ("", "_CONFIRM")}
"""What makes Open MPI, whose ranks are started by ORTE or PRRTE, run as root."""
PREFIX = "OMPI_MCA_"
DELAYING: Mapping[str, frozenset[str]] = {"btl": frozenset({"ofi"})}
WITHOUT_ADAPTER: Mapping[str, frozenset[str]] = {"btl": frozenset({"ofi", "openib", "usnic"})}
ADAPTERS = ("infiniband", "cxi", "hfi1", "infiniband_verbs", "cxi_user", "usnic_verbs")
"""Classes of devices (/sys/class) that another transport than shared memory may use, even between ranks of a host."""
DELAY_S = 1.0  # that the sleep takes


@dataclass(frozen=True)
class Cores:
    """What this process may run on."""

    physical: int
    threads: int
    restricted: bool = False


class Family:
    """MPICH, and the default for unknown libraries, since hydra's options are the most common."""

    free: tuple[str, ...] = ("-bind-to", "none")
    crowded: tuple[str, ...] = ("-bind-to", "none")
    by_core: tuple[str, ...] = ("-bind-to", "core")
    pinned: tuple[str, ...] = ("-bind-to", "core")  # in a job, where hardware threads are not distinguished from cores
    by_thread: tuple[str, ...] = ("-bind-to", "hwthread")
    here: tuple[str, ...] = ("-launcher", "fork", "-hosts", "localhost")
    """Arguments that start all ranks on this host, even inside a job of several hosts."""

    def binding(self, ranks: int, oversubscribed: bool, cores: Cores) -> list[str]:
        """Arguments that bind each rank to its own core, or leave the ranks free when they outnumber the cores."""
        if oversubscribed or ranks > cores.threads:
            return list(self.crowded)
        if cores.restricted:
            return list(self.free)
        return list(self.by_core if ranks <= cores.physical else self.by_thread)

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        """Variables that make a waiting rank give its core to another one, where ranks outnumber cores."""
        # hydra has no option for it; without it each rank burns its whole time slice before the next one runs. The
        # first variable is of the device ch3; ch4 sleeps after so many polls in vain, which shorter waits do not reach.
        polls = {"": "1", "_NO_PROGRESS_COUNT": "256"}
        throttle = {f"MPIR_CVAR_CH4_PROGRESS_THROTTLE{name}": value for name, value in polls.items()}
        return {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", **throttle} if oversubscribed else {}

    def across(self, nodes: Sequence[str], each: int, cyclic: bool) -> list[str]:
        """Arguments that put ``each`` ranks on every host; hydra fills the hosts of its list in turn."""
        return ["-hosts", slots(nodes, 1 if cyclic else each)]

    def command(self, mpiexec: Path, ranks: int, crowded: bool, cores: Cores, program: Sequence[str]) -> list[str]:
        """Full command line for ranks on this host; ``crowded``: more than cores, by intent."""
        return [str(mpiexec), *self.here, *self.binding(ranks, crowded, cores), "-n", str(ranks), *program]


class OpenMpi5(Family):
    """Open MPI 5: PRRTE."""

    free = ("--bind-to", "none")
    crowded = ("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none")
    by_core = ("--map-by", "core", "--bind-to", "core")
    pinned = ("--bind-to", "core")
    by_thread = ("--map-by", "hwthread:HWTCPUS", "--bind-to", "hwthread")
    here = ()  # without a scheduler's variables Open MPI knows no other host

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        return ({"OMPI_MCA_mpi_yield_when_idle": "1"} if oversubscribed else {}) | as_root()

    def across(self, nodes: Sequence[str], each: int, cyclic: bool) -> list[str]:
        """Arguments for hosts; never with ``:OVERSUBSCRIBE``, which puts all ranks on the first host."""
        return ["--host", slots(nodes, each), "--map-by", "node" if cyclic else "slot"]


class OpenMpi4(OpenMpi5):
    """Open MPI 4 and before: ORTE."""

    crowded = ("--oversubscribe", "--bind-to", "none")
    by_thread = ("--use-hwthread-cpus", "--map-by", "hwthread", "--bind-to", "hwthread")


class IntelMpi(Family):
    """Intel MPI: hydra, with pinning by variables. Untested: no such library at hand."""

    free = crowded = by_core = by_thread = pinned = ()  # Intel's hydra pins by I_MPI_PIN, and refuses -bind-to

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        if oversubscribed:
            return {"I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "2"}
        return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "core", "I_MPI_PIN_ORDER": "compact"}

    def across(self, nodes: Sequence[str], each: int, cyclic: bool) -> list[str]:
        """Arguments that put ``each`` ranks on every host: Intel's hydra counts them apart from the host list."""
        # in a job it would else take the scheduler's placement and leave -ppn unheard
        heed = ["-genv", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "off"]
        return ["-hosts", ",".join(nodes), "-ppn", str(1 if cyclic else each), *heed]


class Mvapich(Family):
    """MVAPICH: hydra, with its own affinity. Untested: no such library at hand."""

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        """Leave binding to hydra: MVAPICH's own would bind ranks of several launches to the same cores."""
        return {"MV2_ENABLE_AFFINITY": "0", **super().environment(oversubscribed)}


def slots(nodes: Sequence[str], each: int) -> str:
    """Host list with the number of ranks on each: ``node0:2,node1:2``."""
    return ",".join(f"{node}:{each}" for node in nodes)


def family_of(library: Library) -> Family:
    """Return how this library starts ranks."""
    if library.family == OPEN_MPI:
        return OpenMpi5() if library.major >= 5 else OpenMpi4()
    return {INTEL: IntelMpi, MVAPICH: Mvapich}.get(library.family, Family)()


def as_root() -> dict[str, str]:
    """Let Open MPI run as root where we are root already (containers, CI); a user's refusal stays one elsewhere."""
    return {} if os.geteuid() else AS_ROOT


def cores_here() -> Cores:
    """Cores and hardware threads that this process may use."""
    allowed = os.sched_getaffinity(0)
    lists = {cpu: Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in allowed}
    siblings = {each.read_text(encoding="utf-8").strip() if each.exists() else str(cpu) for cpu, each in lists.items()}
    return Cores(physical=len(siblings), threads=len(allowed), restricted=len(allowed) < (os.cpu_count() or 1))


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
    stated = {PREFIX + name for name in user} | environment.keys()
    places = (root / "etc/openmpi/openmpi-mca-params.conf", starter.parent.parent / "etc/openmpi-mca-params.conf")
    site = _file_values(places[0]) | _file_values(places[1])
    bare = not any((root / "sys/class" / name).exists() for name in ADAPTERS)
    found: dict[str, str] = {}
    for framework, names in (WITHOUT_ADAPTER if bare else DELAYING).items():
        given = site.get(framework, "^")
        if given.startswith("^") and PREFIX + framework not in stated:
            found[PREFIX + framework] = "^" + ",".join(sorted(names | set(filter(None, given[1:].split(",")))))
    excluded = site.get("pml", "^")
    wished = {PREFIX + "pml", PREFIX + "mtl"} & stated  # a chosen mtl wants pml = cm
    if bare and excluded.startswith("^") and "ob1" not in excluded and not wished:
        found[PREFIX + "pml"] = "ob1"
    return found


def _file_values(path: Path) -> dict[str, str]:
    return dict(re.findall(r"(?m)^[ \t]*(\w+)[ \t]*=[ \t]*(\S+)", read(path)))
