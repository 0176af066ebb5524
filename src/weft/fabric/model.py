# SPDX-License-Identifier: BSD-3-Clause
"""A fabric as its file describes it: nodes, network, groups of nodes."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, WithJsonSchema, model_validator

from weft.errors import FabricError
from weft.fabric.kinds import KINDS, MODEL, MPIEXEC, FabricKind
from weft.fabric.network.sections import Latency, NetworkSection
from weft.fabric.nodeset import NodeSetError, expand, size
from weft.fabric.presets import with_presets
from weft.fabric.simulation import SimulationSection
from weft.files.reading import fields_at, locate, read_toml, validate
from weft.files.section import Section, WholeFile
from weft.host import Host, Limit, smallest
from weft.text import one_line
from weft.units import Bytes, Rate, Seconds


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


def one_of(names: Collection[str], said: str) -> AfterValidator:
    """A check of a name; ValueError for another one, with all in words."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"must be {said}")
        return name

    return AfterValidator(check)


STARTERS = [*sorted({kind.starter for kind in KINDS.values() if kind.starter}), MPIEXEC]
Word = Annotated[str, without(r"[\s\"'`$\\;&|<>]", "one word, without quotes or signs of the shell")]
Expression = Annotated[str, without(r"[\"'`\\$]", "one line without quotes, backslashes and dollars")]
STARTER_SCHEMA = WithJsonSchema({"enum": STARTERS, "type": "string"}, mode="validation")
Starter = Annotated[str, one_of(["", *STARTERS], " or ".join(STARTERS)), STARTER_SCHEMA]


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


*OTHERS, LAST = map(repr, KINDS)
KIND_SCHEMA = WithJsonSchema({"enum": list(KINDS), "type": "string"})
Kind = Annotated[str, one_of(KINDS, f"{', '.join(OTHERS)} or {LAST}"), KIND_SCHEMA]
Count = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
ROUTED = ("ecmp", "tables")
MOST_GROUPED = 1_000_000
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


def checked_nodes(text: str) -> str:
    """Return ``text`` if it is a node set. Raises NodeSetError: It is not; also a ValueError."""
    if not size(text):
        raise NodeSetError("an empty node set")
    return text


NodeNames = Annotated[str, AfterValidator(checked_nodes)]


class Node(Section, frozen=True):
    """What every node of the fabric has."""

    preset: str | None = Field(None, description='numbers of a processor, by name (weft fabric presets): "epyc-7763"')
    names: NodeNames | None = Field(None, description='names of all nodes, as a node set: "n[37-72]"')
    sockets: Count | None = Field(None, description="processors a node has")
    cores: Count | None = Field(None, description="cores a node has, over all its sockets")
    memory: Bytes | None = Field(None, description='memory one node can give to ranks: "24 GiB"')
    copy_rate: Rate | None = Field(None, description='bytes all cores of a node copy in a second: "10 GB/s"')
    core_copy_rate: Rate | None = Field(
        None, description='bytes one core copies in a second: "10 GB/s"; default: as much as all cores together'
    )
    latency: Latency | None = Field(None, description='one-way latency between two ranks of a node: "300 ns"')


class Fabric(WholeFile, frozen=True):
    """Where a study runs. Kinds to come add optional sections of their own; nothing below a launcher reads them."""

    name: Name = Field(description="letters, digits, . _ -")
    kind: Kind = Field(description="local, virtual, simulated, slurm, pbs, lsf or flux")
    title: str = Field("", description="one line for people")
    node: Node = Field(Node(), description="[node]: what every node has")  # pyright: ignore[reportCallIssue]
    network: NetworkSection | None = Field(None, description="[network]: what joins the nodes")
    batch: BatchSection | None = Field(None, description="[batch]: how a scheduler wants its jobs")
    simulation: SimulationSection | None = Field(None, description="[simulation]: how a simulated MPI behaves here")
    groups: dict[Name, NodeNames] = Field({}, description='[groups]: names for sets of nodes: leaf = "n[37-54]"')
    sources: dict[str, str] = Field({}, description='[sources]: where each number comes from: "node.memory" = "..."')
    ranges: dict[str, tuple[str, str]] = Field(
        {}, description='[ranges]: what a number may be, if not exactly known: "network.overhead" = ["0.2 us", "2 us"]'
    )

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all nodes, in order."""
        return expand(self.node.names) if self.node.names else ()

    @property
    def implied(self) -> FabricKind:
        """The properties that its kind implies."""
        return KINDS[self.kind]

    @property
    def starter(self) -> str:
        """What starts ranks in its jobs: as its file says, else its scheduler's own, else the MPI library's."""
        return (self.batch.starter if self.batch else "") or self.implied.starter or MPIEXEC

    @property
    def runs_here(self) -> bool:
        """Whether its ranks run on this host."""
        return self.implied.runs_here

    @property
    def is_emulated(self) -> bool:
        """Whether its network is emulated by links that are limited with token buckets."""
        return self.implied.is_emulated

    @property
    def is_model(self) -> bool:
        """Whether its times come from a model with the rates of this file, and repeat exactly at every launch."""
        return self.implied.is_model

    @property
    def stated_limits(self) -> dict[str, str]:
        """Bytes at which the cost of a message changes, by the key that states them; empty unless it is a model."""
        return self.network.stated_limits if self.is_model and self.network else {}

    @property
    def presets(self) -> tuple[str, ...]:
        """Names of the presets that give numbers which the file does not state."""
        return tuple(name for name in (self.node.preset, self.network.preset if self.network else None) if name)

    @property
    def label(self) -> str:
        """The label of numbers that were not measured on a real network; empty for those that were."""
        return self.implied.label

    def as_model(self, name: str) -> "Fabric":
        """The same machine as a model, under another name."""
        network = self.network
        if network is not None and network.routing in ROUTED:
            network = network.model_copy(update={"routing": "minimal"})
        return self.model_copy(update={"kind": MODEL, "name": name, "network": network})

    @model_validator(mode="after")
    def described(self) -> Self:
        """Refuse a fabric for which no plan can be made."""
        missing = [key for key in ("names", "cores") if getattr(self.node, key) is None]
        if missing and not self.implied.is_this_host:
            raise ValueError(f'a fabric of kind "{self.kind}" needs node.{missing[0]}')
        if len(self.hosts) > 1 and self.network is None:
            raise ValueError(f"{len(self.hosts)} nodes need a section [network]")
        if self.implied.is_this_host and len(self.hosts) > 1:
            names = self.node.names
            raise ValueError(f'kind "{self.kind}" is this host alone, and node.names = "{names}" names several')
        return self

    @model_validator(mode="after")
    def the_scheduler_has_it(self) -> Self:
        """Refuse what the scheduler of this kind has nothing like, before anything is compiled for it."""
        batch = self.batch or BatchSection.model_validate({})
        own = self.implied.starter
        if batch.starter not in ("", own, MPIEXEC):
            instead = f'"{own}" or "{MPIEXEC}"' if own else f'"{MPIEXEC}"'
            raise ValueError(f'kind "{self.kind}" starts ranks by {instead}, not by batch.starter = "{batch.starter}"')
        if given := next((key for key in self.implied.without if getattr(batch, key)), ""):
            raise ValueError(f'kind "{self.kind}" has nothing like batch.{given}: leave it out, or use batch.options')
        return self

    @model_validator(mode="after")
    def the_kind_has_such_a_network(self) -> Self:
        """Refuse several rails where nothing gives each rank its own, and switches that route where Weft makes none."""
        rails, routing = (self.network.rails, self.network.routing) if self.network is not None else (1, "minimal")
        if rails > 1 and self.is_emulated:
            raise ValueError(f'kind "{self.kind}" makes one link a node: leave out network.rails')
        if rails > 1 and self.simulation is not None and self.simulation.model == "infiniband":
            raise ValueError('simulation.model = "infiniband" cannot distinguish the ranks of a node: leave out rails')
        if routing in ROUTED and not self.is_emulated:
            raise ValueError(f'routing = "{routing}" is for kind "virtual", not for "{self.kind}"')
        return self

    @property
    def routes_known(self) -> bool:
        """Whether messages take the routes of its network: a model's minimal ones, or tables in virtual switches."""
        routing = self.network.routing if self.network else ""
        return (self.is_model and routing == "minimal") or (self.is_emulated and routing == "tables")

    @model_validator(mode="after")
    def groups_are_of_the_fabric(self) -> Self:
        """Refuse groups with nodes that are not in the fabric, and sources or ranges of keys that do not exist."""
        named = sum(size(names) for names in self.groups.values())
        if named > MOST_GROUPED:
            raise ValueError(f"{named:,} names in all groups; at most {MOST_GROUPED:,} are looked up")
        known = set(self.hosts)
        for group, names in self.groups.items():
            if foreign := [name for name in expand(names) if name not in known]:
                raise ValueError(f'groups.{group} = "{names}" holds {foreign[0]}, which is not in node.names')
        for table, keys in (("sources", self.sources), ("ranges", self.ranges)):
            for key in keys:
                *section, last = key.split(".")
                if section != ["groups"] and last not in fields_at(Fabric, section):
                    raise ValueError(f'{table} has "{key}", and no such key exists')
        for key in self.ranges:
            self.range_of(key)
        return self

    def range_of(self, key: str) -> tuple[float, float]:
        """The two ends of a number's range in the unit of its key; ValueError for no such numbers, or in no order."""
        *section, last = key.split(".")
        field = fields_at(Fabric, section).get(last)
        if field is None:
            raise ValueError(f'ranges has "{key}", and no such key exists')
        kind: Any = field.annotation
        for each in field.metadata:  # what reads its text
            kind = Annotated[kind, each]
        reader, stated = TypeAdapter[Any](kind), f'ranges has "{key}" = {list(self.ranges[key])}'
        try:
            low, high = (float(reader.validate_python(end)) for end in self.ranges[key])
        except (ValidationError, TypeError) as error:
            raise ValueError(f"{stated}: write two values with units") from error
        if low > high:
            raise ValueError(f"{stated}: the smaller end comes first")
        return low, high


def load_fabric(given: str | Path) -> Fabric:
    """Read a fabric file, by path or shipped name (``tara``); FabricError names file, key, value, what is allowed."""
    path = locate(given, "fabrics", FabricError)
    text, tree = read_toml(path, FabricError)
    return validate(Fabric, with_presets(tree), str(path), FabricError).read_from(path, text)


def complete(fabric: Fabric, host: Host) -> Fabric:
    """The fabric with the keys that its file omits filled in from this host; only kind local changes."""
    if not fabric.implied.is_this_host:
        return fabric
    found = {"names": host.name, "cores": host.cores, "memory": host.memory_bytes or None}
    missing = {key: value for key, value in found.items() if getattr(fabric.node, key) is None}
    return fabric.model_copy(update={"node": fabric.node.model_copy(update=missing)})


def memory_limit(fabric: Fabric, host: Host) -> Limit | None:
    """Memory that a node of the fabric has for a cell; None if unknown. This host's limits count if it is the node."""
    stated = [] if fabric.node.memory is None else [Limit(fabric.node.memory, "node.memory")]
    return smallest([*(host.limits if fabric.implied.is_this_host else ()), *stated])
