# SPDX-License-Identifier: BSD-3-Clause
"""A fabric as its file describes it: nodes, network, groups of nodes."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, model_validator

from weft.errors import FabricError
from weft.fabric.batch import BatchSection
from weft.fabric.network.sections import NetworkSection as Network
from weft.fabric.network.sections import TreeSection as Tree
from weft.fabric.nodeset import expand
from weft.fabric.simulation import SimulationSection
from weft.reading import locate, model_at, read_toml, validate
from weft.units import Bytes, Rate, Seconds

__all__ = ["Fabric", "Network", "Node", "Tree", "load_fabric"]

Kind = Literal["local", "virtual", "simulated", "slurm", "pbs", "lsf", "flux"]
Count = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


def checked_nodes(text: str) -> str:
    """``text`` where it is a node set; ValueError otherwise."""
    expand(text)
    return text


NodeNames = Annotated[str, AfterValidator(checked_nodes)]


class Section(BaseModel, frozen=True, extra="forbid"):
    """A table of a file: nothing unknown in it, nothing changed after it is read."""


class Node(Section, frozen=True):
    """What every node of the fabric has."""

    names: NodeNames | None = Field(None, description='names of all nodes, as a node set: "n[37-72]"')
    sockets: Count | None = Field(None, description="processors a node has")
    cores: Count | None = Field(None, description="cores a node has, over all its sockets")
    memory: Bytes | None = Field(None, description='memory one node can give to ranks: "24 GiB"')
    copy_rate: Rate | None = Field(None, description='bytes all cores of a node copy in a second: "10 GB/s"')
    latency: Seconds | None = Field(None, description='one-way latency between two ranks of a node: "300 ns"')


class Fabric(Section, frozen=True):
    """Where a study runs.

    Kinds to come add their own sections here as optional fields; nothing below a launcher reads them.
    """

    name: Name = Field(description="letters, digits, . _ -")
    kind: Kind = Field(description="local, virtual, simulated, slurm, pbs, lsf or flux")
    title: str = Field("", description="one line for people")
    node: Node = Field(Node(), description="[node]: what every node has")  # pyright: ignore[reportCallIssue]
    network: Network | None = Field(None, description="[network]: what joins the nodes")
    batch: BatchSection | None = Field(None, description="[batch]: how a scheduler wants its jobs")
    simulation: SimulationSection | None = Field(None, description="[simulation]: how a simulated MPI behaves here")
    groups: dict[Name, NodeNames] = Field({}, description='[groups]: names for sets of nodes: leaf = "n[37-54]"')
    sources: dict[str, str] = Field({}, description='[sources]: where each number comes from: "node.memory" = "..."')

    _path: Path = PrivateAttr(default=Path())
    _text: str = PrivateAttr(default="")

    @property
    def path(self) -> Path:
        """File it was read from."""
        return self._path

    @property
    def text(self) -> str:
        """That file's text, for the run folder."""
        return self._text

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all nodes, in order."""
        return expand(self.node.names) if self.node.names else ()

    @property
    def is_model(self) -> bool:
        """Whether its times come from a model: the same again at every launch, by the rates that this file states."""
        return self.kind == "simulated"

    @model_validator(mode="after")
    def described(self) -> Self:
        """Refuse a fabric that cannot be planned on."""
        if self.kind != "local":
            for key in ("names", "cores"):
                if getattr(self.node, key) is None:
                    raise ValueError(f'a fabric of kind "{self.kind}" needs node.{key}')
        if len(self.hosts) > 1 and self.network is None:
            raise ValueError(f"{len(self.hosts)} nodes need a section [network]")
        if self.kind == "local" and len(self.hosts) > 1:
            raise ValueError(f'kind "local" is this host alone, and node.names = "{self.node.names}" names several')
        return self

    @model_validator(mode="after")
    def groups_are_of_the_fabric(self) -> Self:
        """Refuse groups with foreign nodes, and sources of keys that are not there."""
        known = set(self.hosts)
        for group, names in self.groups.items():
            foreign = [name for name in expand(names) if name not in known]
            if foreign:
                raise ValueError(f'groups.{group} = "{names}" holds {foreign[0]}, which is not in node.names')
        for key in self.sources:
            *section, last = key.split(".")
            owner = model_at(Fabric, section)
            if section != ["groups"] and (owner is None or last not in owner.model_fields):
                raise ValueError(f'sources has "{key}", and no such key exists')
        return self


def load_fabric(given: str | Path) -> Fabric:
    """Read a fabric file, by path or by the name of a shipped one (``local``, ``tara``).

    Raises
    ------
    FabricError
        No such file, no TOML, or a mistake in it: with file, key, value and what is allowed.
    """
    path = locate(given, "fabrics", FabricError)
    text, tree = read_toml(path, FabricError)
    fabric = validate(Fabric, tree, str(path), FabricError)
    fabric._path, fabric._text = path, text  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return fabric
