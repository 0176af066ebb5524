# SPDX-License-Identifier: BSD-3-Clause
"""How each family of MPI libraries is started across virtual hosts, and restricted to their links.

To the options of :mod:`weft.mpi.starting` this adds what a cluster without ssh needs: the launch agent, the hosts, and
the transports that use ``eth0``. Without these, every library would notice that all "hosts" are one machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from weft.errors import LaunchError
from weft.launch.launcher import CYCLIC, LaunchRequest
from weft.launch.virtual.cluster import AGENT
from weft.launch.virtual.wiring import INTERFACE
from weft.mpi.library import INTEL, Library
from weft.mpi.starting import AS_ROOT, Family, OpenMpi4, OpenMpi5, family_of


@dataclass(frozen=True)
class Starter:
    """``mpiexec`` across virtual hosts."""

    family: Family

    def environment(self) -> dict[str, str]:
        """Variables that keep ranks to the links, above the user's own; ranks yield, as hosts share cores."""
        # session directories belong to a host and go with it; /dev/shm is the host's own tmpfs
        return {**self.family.environment(True), **self.links(), "TMPDIR": "/dev/shm"}

    def links(self) -> dict[str, str]:
        """Transports for MPICH and its relatives, over UCX (ch4:ucx) or libfabric (ch4:ofi)."""
        return {"UCX_TLS": "tcp,sm,self", "UCX_NET_DEVICES": INTERFACE, "FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}

    def words(self, request: LaunchRequest) -> list[str]:
        """Arguments of ``mpiexec``: agent, hosts, placement, number of ranks."""
        across = self.family.across(request.nodes, request.ranks_per_node, request.order == CYCLIC)
        return [*self.agent(), *across, *self.family.free, "-n", str(request.ranks)]

    def agent(self) -> list[str]:
        """Arguments that name the launch agent and the interface."""
        return ["-launcher", "ssh", "-launcher-exec", AGENT, "-iface", INTERFACE]


class OpenMpi(Starter):
    """Open MPI 5, with PRRTE."""

    starter: ClassVar[Mapping[str, str]] = {"PRTE_MCA_plm_ssh_agent": AGENT, "PRTE_MCA_prte_if_include": INTERFACE}
    shared: ClassVar[str] = "sm"

    def links(self) -> dict[str, str]:
        """Transports by TCP between hosts and shared memory inside them."""
        # inside the cluster the user is mapped to root, whatever their name outside
        transports = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": f"tcp,self,{self.shared}"}
        return {**AS_ROOT, **self.starter, **transports, "OMPI_MCA_btl_tcp_if_include": INTERFACE}

    def agent(self) -> list[str]:
        """Return nothing: the variables of :meth:`links` name them."""
        return []


class OpenMpiBefore5(OpenMpi):
    """Open MPI 4, with ORTE, under the older names."""

    starter: ClassVar[Mapping[str, str]] = {"OMPI_MCA_plm_rsh_agent": AGENT, "OMPI_MCA_oob_tcp_if_include": INTERFACE}
    shared: ClassVar[str] = "vader"


def anywhere() -> dict[str, str]:
    """Variables under which a plain ``mpiexec --host node0,node1`` of any family goes over the links."""
    hydra = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": AGENT, "HYDRA_IFACE": INTERFACE}
    families = (Starter(Family()), OpenMpi(OpenMpi5()), OpenMpiBefore5(OpenMpi4()))
    # the last one's btl wins: Open MPI 5 knows sm by its former name vader too, 4 does not know the new one
    merged = {name: value for starter in families for name, value in starter.environment().items()}
    return {**merged, **hydra}


def starter_for(library: Library) -> Starter:
    """How a library is started across virtual hosts; LaunchError if it cannot be restricted to the links."""
    family = family_of(library)
    if isinstance(family, OpenMpi4):
        return OpenMpiBefore5(family)
    if isinstance(family, OpenMpi5):
        return OpenMpi(family)
    if library.family == INTEL:
        what = f"{library} cannot be restricted to virtual links: it was never tested there"
        raise LaunchError(what, "use Open MPI or MPICH: --mpicxx /path/to/mpicxx")
    return Starter(family)
