# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on a virtual cluster, which is brought up for a run and taken down after it.

To the options of :mod:`weft.mpi.starting` a cluster without ssh adds the launch agent, the hosts, and the transports
that use ``eth0``. Without these, every library would notice that all "hosts" are one machine.
"""

import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from weft.errors import LaunchError, WeftError
from weft.fabric.kinds import BURST_S, MTU
from weft.fabric.model import Fabric
from weft.files.beneath import version
from weft.kernel.registry import kernel_named
from weft.launch.build import Kernels, Say, build_kernels
from weft.launch.launcher import CYCLIC, LaunchRequest, Outcome, read_slots
from weft.launch.local import run_kept, without_job
from weft.launch.virtual.cluster import AGENT, Cluster
from weft.launch.virtual.counters import METHOD, capture, counters_now, read_counters
from weft.launch.virtual.spec import VirtualSpec, spec_of, too_fast
from weft.launch.virtual.wiring import INTERFACE, QUEUE_S, ROUTER, SEED, SETTINGS
from weft.mpi.library import INTEL, Library, find_mpi
from weft.mpi.starting import AS_ROOT, Family, OpenMpi4, OpenMpi5, family_of
from weft.plan.wire import Rules
from weft.store.links import LinkCount, job_key, links_file, passed, write_links

EVERY_S = 0.1  # interval of reading the ranks' status: a file of 64 bytes per rank, so a read costs some microseconds


class CellMarks:
    """Reads the counters, by small processes, while the ranks fill the buffers of another cell, in a ``with`` block.
    Bytes in the first tenth of a second of a cell may be counted for the previous one.
    """

    def __init__(self, request: LaunchRequest, read: Callable[[], list[LinkCount]]) -> None:
        self._cells = [cell.id for cell in request.cells]
        self._counted = any(cell.parameters.get("counted") for cell in request.cells)
        self._borders = self._counted or sum(not kernel_named(cell.kernel).is_floor for cell in request.cells) > 1
        self._status, self._read = request.file("status"), read
        self._before = version(self._status)
        self._marks: list[tuple[str, str, list[LinkCount]]] = []
        self._late = set[int]()  # marks that may have bytes of what came next
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._borders:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        rank = 0  # the one that named the last job
        while not self._stop.wait(EVERY_S):
            slots = {slot.rank: slot for slot in read_slots(self._status, self._before)}
            cell = next((slot.cell for slot in slots.values()), "")
            named = next((slot for slot in slots.values() if slot.phase == "counted"), None) if self._counted else None
            job, rank = (named.op, named.rank) if named else ("", rank)
            if cell in self._cells and (not self._marks or self._marks[-1][:2] != (cell, job)):
                try:
                    self._marks.append((cell, job, self._read()))
                except WeftError:  # the cluster is going down: whoever waits for the launch will say so
                    return
                if slots.get(rank) not in read_slots(self._status, self._before):
                    self._late.add(len(self._marks) - 1)

    def loads(self, end: list[LinkCount]) -> dict[str, list[LinkCount]]:
        """What crossed the links during each cell that was seen; nothing for a launch of one cell."""
        first = {cell: counts for cell, _, counts in reversed(self._marks)}
        seen = list(dict.fromkeys(cell for cell, *_ in self._marks))
        if len(seen) < 2:
            return {}
        readings = [first[cell] for cell in seen]
        return {cell: passed(*each) for cell, *each in zip(seen, readings, [*readings[1:], end], strict=True)}

    def jobs(self) -> dict[str, list[LinkCount]]:
        """What crossed the links while a job of a cell ran by itself, by `job_key`; nothing where a look took long."""
        each = enumerate(zip(self._marks, self._marks[1:], strict=False))
        return {
            job_key(cell, job): passed(begin, end)
            for k, ((cell, job, begin), (*_, end)) in each
            if job and not self._late & {k, k + 1}
        }


class VirtualLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` over virtual links."""

    rules = Rules()

    def __init__(self, spec: VirtualSpec, kernels: Kernels, say: Say = lambda _: None) -> None:
        self.spec, self.kernels, self.say = spec, kernels, say
        self.starter, self.mpiexec = starter_for(kernels.library), kernels.mpi.mpiexec()
        self.pcap: tuple[str, ...] = ()  # nodes whose packets are captured
        self._cluster: Cluster | None = None

    def provenance(self) -> dict[str, Any]:
        """Describe the library, its starter, the kernels, and how the links are shaped."""
        router = ROUTER | {SEED: self.spec.hash_seed or "random"} if self.spec.ways else {}
        return {
            **self.kernels.about(),
            "launcher": "virtual",
            "mpiexec": str(self.mpiexec),
            "links": {"mtu": MTU, "queue_s": QUEUE_S, "burst_s": BURST_S, **SETTINGS, **router},
        }

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request over the links and store their counters; LaunchError without cluster or host."""
        if not requests:
            return
        with cluster_for(self.spec, self.say) as cluster:
            self._cluster = cluster
            try:
                for request in requests:
                    yield self._run_one(cluster, request)
            finally:
                self._cluster = None

    def counters_now(self) -> list[LinkCount]:
        """Bytes over each link so far, read without disturbing the launch; empty if none runs."""
        cluster = self._cluster
        return counters_now(cluster.spec, cluster.counter_files()) if cluster else []

    def command(self, request: LaunchRequest) -> list[str]:
        """The command that starts the ranks of a request, run on its first host."""
        return [str(self.mpiexec), *self.starter.words(request), str(self.kernels.program), str(request.plan)]

    def environment(self, request: LaunchRequest) -> dict[str, str]:
        """Variables of the ranks."""
        return {**self.starter.environment(), **self.kernels.variables, **request.environment}

    def _run_one(self, cluster: Cluster, request: LaunchRequest) -> Outcome:
        cluster.sweep()
        before = read_counters(cluster)
        try:
            # a capture is a process of the cluster too: it has to end, and write its last packets, before the sweep
            with ExitStack() as captures:
                for node in self.pcap:
                    captures.enter_context(capture(cluster, node, request.file(f"{node}.pcap")))
                marks = captures.enter_context(CellMarks(request, lambda: read_counters(cluster)))
                outcome = launched(cluster, request, self.command(request), self.environment(request))
        finally:
            if cluster.alive():
                cluster.sweep()
        if not cluster.alive():
            what = f"the virtual fabric {self.spec.name} went away during launch {request.id}"
            raise LaunchError(what, "it was taken down, or its holder was killed; the same command measures the rest")
        after = read_counters(cluster)
        counts, cells = passed(before, after), marks.loads(after)
        write_links(links_file(request.folder, request.id), request.id, METHOD, counts, cells, marks.jobs())
        return outcome


def launched(cluster: Cluster, request: LaunchRequest, command: list[str], environment: dict[str, str]) -> Outcome:
    """Run a command on a request's first host to its end, or to the end of its time."""
    # `env` sets them behind the keeper, which gives the launch a TMPDIR on this machine: on a host it is the host's
    variables = [f"{name}={value}" for name, value in environment.items()]
    entering = cluster.command(request.nodes[0], ["env", *variables, *command], request.folder)
    return run_kept(entering, without_job(os.environ), request)


@contextmanager
def cluster_for(spec: VirtualSpec, say: Say) -> Generator[Cluster]:
    """A cluster for the duration of a run: the standing one if it is the same, else a new one."""
    for cluster in Cluster.standing():
        if cluster.spec == spec:
            with cluster.reserved():
                say(f"running over the virtual fabric {spec.name} that is up")
                yield cluster
            return
        if cluster.spec.name == spec.name:
            say(f"{spec.name} is up with other links than its file has now: bringing up another for this run")
    with Cluster.start(spec) as cluster:
        yield cluster


def make_launcher(fabric: Fabric, mpicxx: str | None, say: Say, only: str = "") -> VirtualLauncher:
    """What starts ranks over virtual links; FabricError for no tree, LaunchError without an MPI that keeps to them."""
    spec = spec_of(fabric)
    if warning := too_fast(spec, len(os.sched_getaffinity(0))):
        say(f"warning: {warning}")
    return VirtualLauncher(spec, build_kernels(find_mpi(mpicxx), say, only=only), say)


@dataclass(frozen=True)
class Starter:
    """``mpiexec`` across virtual hosts."""

    family: Family
    links: Mapping[str, str]  # variables by which ranks keep to the links
    agent: tuple[str, ...] = ()  # arguments that name the launch agent and the interface, where no variables do

    def environment(self) -> dict[str, str]:
        """Variables that keep ranks to the links, above the user's own; ranks yield, as hosts share cores."""
        # session directories belong to a host and go with it; /dev/shm is the host's own tmpfs
        return {**self.family.environment(True), **self.links, "TMPDIR": "/dev/shm"}

    def words(self, request: LaunchRequest) -> list[str]:
        """Arguments of ``mpiexec``: agent, hosts, placement, number of ranks."""
        across = self.family.across(request.nodes, request.ranks_per_node, request.order == CYCLIC)
        return [*self.agent, *across, *self.family.free, "-n", str(request.ranks)]


def starter_of(family: Family) -> Starter:
    """How a family of libraries is started across virtual hosts."""
    if not isinstance(family, OpenMpi5):  # MPICH and its relatives, over UCX (ch4:ucx) or libfabric (ch4:ofi)
        ucx = {"UCX_TLS": "tcp,sm,self", "UCX_NET_DEVICES": INTERFACE}
        agent = ("-launcher", "ssh", "-launcher-exec", AGENT, "-iface", INTERFACE)
        return Starter(family, {**ucx, "FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}, agent)
    if isinstance(family, OpenMpi4):  # with ORTE, under the older names
        own = {"OMPI_MCA_plm_rsh_agent": AGENT, "OMPI_MCA_oob_tcp_if_include": INTERFACE}
    else:
        own = {"PRTE_MCA_plm_ssh_agent": AGENT, "PRTE_MCA_prte_if_include": INTERFACE}
    shared = "vader" if isinstance(family, OpenMpi4) else "sm"
    transports = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": f"tcp,self,{shared}", "OMPI_MCA_btl_tcp_if_include": INTERFACE}
    return Starter(family, {**AS_ROOT, **own, **transports})  # inside one is root, whatever the user's name outside


def anywhere() -> dict[str, str]:
    """Variables under which a plain ``mpiexec --host node0,node1`` of any family goes over the links."""
    hydra = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": AGENT, "HYDRA_IFACE": INTERFACE}
    # the last one's btl wins: Open MPI 5 knows sm by its former name vader too, 4 does not know the new one
    families = map(starter_of, (Family(), OpenMpi5(), OpenMpi4()))
    return {name: value for starter in families for name, value in starter.environment().items()} | hydra


def starter_for(library: Library) -> Starter:
    """How a library is started across virtual hosts; LaunchError if it cannot be restricted to the links."""
    if library.family == INTEL:
        what = f"{library} cannot be restricted to virtual links: it was never tested there"
        raise LaunchError(what, "use Open MPI or MPICH: --mpicxx /path/to/mpicxx")
    return starter_of(family_of(library))
