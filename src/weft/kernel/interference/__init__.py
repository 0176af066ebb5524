# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``interference``: a victim's call, alone and beside each kind of traffic, in turns of one launch."""

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.fabric.network.minimal import has_several_ways
from weft.files.section import Section
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep, find_hosts
from weft.kernel.budget import INT_BYTES, sample_bytes, staging
from weft.kernel.jobs import BESIDE, BURSTS, Jobs, node_of, pairs_of, rank_at, word_of
from weft.kernel.sizes import split_op
from weft.kernel.traffic import MatrixTraffic, Traffic, Uniform, barrier_messages
from weft.study import Measure, Series, Study
from weft.units import Bytes

Victim = Literal["pingpong", "allreduce", "alltoall", "exchange", "stream"]
Aggressor = Literal["alltoall", "incast", "shift", "bcast", "stream"]
Place = Literal["same-leaf", "other-leaf", "alternating", "random"]
#: Victims of which the bytes decide, not the latency of a message: a fluid model knows no other slow-down.
MOVING = frozenset({"alltoall", "exchange", "stream"})
#: Those of them whose messages begin all at once, so that it is known what each of them shares with others.
AT_ONCE = frozenset({"exchange", "stream"})
Few = Annotated[int, Field(strict=True, ge=1, le=1000)]
Percent = Annotated[int, Field(strict=True, ge=1, le=100)]
IN_PAIRS = frozenset({"pingpong", "stream"})
RECORD = 512  # bytes of a message under way: its request and status, and the library's own
LINE = 64  # bytes: each message of a stream has its own cache lines
MOST_PAIRED = 1024  # ranks
FEWEST = 2  # of a job's nodes, or ranks on a single node
BUSY = 3  # times as long as alone do calls take beside traffic
SHOWN_S, PAUSE_S = 1.2, 0.7  # of a job that is counted by itself, and after the last one (interference.cpp)


class InterferenceSection(Section, frozen=True):
    """``[interference]``: what is measured, beside what, and on which nodes."""

    victims: Annotated[tuple[Victim, ...], Field(min_length=1, max_length=5)] = Field(
        ("allreduce", "stream"), description="calls to measure: pingpong, allreduce, alltoall, exchange, stream"
    )
    aggressors: Annotated[tuple[Aggressor, ...], Field(min_length=1, max_length=5)] = Field(
        ("alltoall", "incast"), description="traffic beside them: alltoall, incast, shift, bcast, stream"
    )
    places: Annotated[tuple[Place, ...], Field(min_length=1, max_length=4)] = Field(
        ("other-leaf", "alternating"),
        description="nodes of the two jobs: same-leaf, other-leaf, alternating, random (by the seed)",
    )
    share: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = Field(
        0.5, description="share of the nodes that measure: 0.5; the others make the traffic"
    )
    small: Bytes = Field(8, description='bytes of a message of pingpong and allreduce: "8 B"')
    large: Bytes = Field(
        65536, description='bytes of a block of alltoall and exchange, of a message of stream: "64 KiB"'
    )
    window: Few = Field(16, description="messages of a stream in flight")
    traffic: Bytes = Field(65536, description='bytes of a message of the traffic beside them: "64 KiB"')
    burst: Few = Field(4, description="messages to each peer in a burst of that traffic")
    rates: Annotated[tuple[Percent, ...], Field(min_length=1, max_length=8)] = Field(
        (100,), description="strengths of the traffic: percent of the time with a burst under way: [25, 50, 100]"
    )
    chunk: Few = Field(10, description="samples in a row, alone or beside one kind of traffic")

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse repeated names, and an allreduce of parts of doubles."""
        for key in ("victims", "aggressors", "places", "rates"):
            if len(set(getattr(self, key))) != len(getattr(self, key)):
                raise ValueError(f"{key} lists one value twice")
        if "allreduce" in self.victims and self.small % 8:
            raise ValueError("small must be whole doubles (8 B, 16 B ...): allreduce adds them up")
        if not (1 <= self.large <= 2**30 and 1 <= self.traffic <= 2**30 and 1 <= self.small <= 2**30):
            raise ValueError("small, large and traffic are 1 B to 1 GiB")
        return self

    def reduced(self, share: float) -> Self:
        """With about a share of its calls: the longest list loses its middle one by one, rates the weakest first."""
        lists = {key: list[Any](getattr(self, key)) for key in ("rates", "aggressors", "victims", "places")}

        def calls() -> int:
            return len(lists["places"]) * len(lists["victims"]) * (1 + len(lists["aggressors"]) * len(lists["rates"]))

        most = max(share * calls(), 2)
        while calls() > most:
            key = "rates" if len(lists["rates"]) > 1 else max(lists, key=lambda each: len(lists[each]))
            left = sorted(lists[key]) if key == "rates" else lists[key]
            left.pop(0 if key in ("rates", "places") else len(left) // 2)
            lists[key] = left
        return self.model_copy(update={key: tuple(left) for key, left in lists.items()})


class InterferenceStudy(Study, frozen=True):
    """A study of the kernel ``interference``."""

    kernel: Literal["interference"] = Field(description="interference")
    interference: InterferenceSection = Field(InterferenceSection(), description="[interference]")  # pyright: ignore[reportCallIssue]


class StreamTraffic(MatrixTraffic):
    """One message of each stream; others are in flight at the same time, so that latency does not bound it."""

    @property
    def rounds(self) -> int:
        return 0


class Interference(Kernel):
    """Jobs, calls, memory and traffic of victims; the traffic beside them is no part of their bounds."""

    name = "interference"
    study: type[Study] = InterferenceStudy
    incidental = frozenset({"chunk", "mates", "counted"})
    keys = ("victim", "window", "traffic", "burst", "chunk", "beside", "mates", "counted")

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        assert isinstance(study, InterferenceStudy)
        section, found = study.interference, list[tuple[Shape, dict[str, Any]]]()
        unknown = fabric.is_emulated and not fabric.routes_known and fabric.network is not None
        # where a switch has several ways, only counters tell which are taken
        several = network if unknown and has_several_ways(network := build_network(fabric)) else None
        victims = [each for each in section.victims if each in MOVING or not fabric.is_model]
        notes = [f"{each}: not modelled, a model has no queues" for each in section.victims if each not in victims]
        for where in section.places:
            splits = [(shape, jobs_of(study, fabric, shape, where)) for shape in shapes]
            there = [(shape, split) for shape, split in splits if not isinstance(split, str)]
            for shape, split in there:
                measuring, others = split
                # ranks beside for each that measures, if both jobs are on one node
                mates: dict[str, Any] = {"mates": -(-len(others) // len(measuring)) if shape.nodes == 1 else 0}
                each = [values_of(section, victim, where, *split) | mates for victim in victims]
                counted = _counted(study, fabric, shape, split, several)
                # by the one that is refused last: no other would tell where the traffic went
                least = min(
                    each, key=lambda own: sum(self.need(own, len(own["members"]), study.measure).values()), default=None
                )
                found += [(shape, one | {"counted": counted[one is least]}) for one in each]
            notes += [] if there else [f"{where}: {splits[-1][1]}"]
        return Sweep(tuple(found), tuple(notes))

    def smaller(self, study: Study, share: float, nodes: int) -> tuple[Study, str] | None:
        assert isinstance(study, InterferenceStudy)
        most = tuple(each.model_copy(update={"nodes": (nodes,)}) for each in study.series)
        several, section = study.series != most, study.interference
        fewer = section.reduced(share * (2 if several else 1) / BUSY)
        kept = [f"only {nodes} nodes"] if several else []
        for key in ("places", "victims", "aggressors", "rates"):
            left, listed = getattr(fewer, key), getattr(section, key)
            kept += [f"{len(left)} of {len(listed)} {key}"] if left != listed else []
        words = f"{', '.join(kept)} are measured"
        return (study.model_copy(update={"interference": fewer, "series": most}), words) if kept else None

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory, and of ranks beside on its node; the C++ kernel counts them."""
        size, mates = values["size"], values["mates"] * sum(_traffic_need(values).values())
        if values["victim"] in IN_PAIRS:
            own = {"messages under way": values.get("window", 1) * max(-(-size // LINE), 1) * LINE}
        else:
            blocks = 1 if values["victim"] == "allreduce" else ranks
            own = {"send": blocks * size, "receive": blocks * size, "counts": 4 * INT_BYTES * ranks}
        samples = sample_bytes(len(values["traffic"]) + 1, measure)
        return {**own, **({"traffic of mates": mates} if mates else {}), "samples": samples, **staging(ranks)}

    def need_beside(self, values: Mapping[str, Any]) -> dict[str, int]:
        return {} if values["mates"] else _traffic_need(values)

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        return Sizes(block=values["size"])

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        jobs = self.jobs(values, ranks)
        return [jobs.alone, *jobs.beside_calls.values()]

    def jobs(self, values: Mapping[str, Any], ranks: int) -> Jobs:
        victim, measuring = values["victim"], values.get("members", range(ranks))
        beside, words = values["beside"], values["traffic"]
        deep = values.get("window", 1), values["burst"]
        return Jobs(victim, values["place"], values["size"], measuring, beside, words, victim in AT_ONCE, *deep)

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        victim, size, node_ranks = values["victim"], values["size"], tuple(values.get("node_ranks", ()))
        if victim == "allreduce" or (victim in IN_PAIRS and ranks > MOST_PAIRED):
            return {}  # of few bytes, or a matrix of very many ranks
        if victim not in IN_PAIRS and not node_ranks:
            return dict.fromkeys(self.operations(values, ranks), Uniform(size, 1, ranks - 1))
        weights = np.zeros((ranks, ranks), dtype=np.int64)
        for source, target in pairs_of(victim, ranks):
            weights[source, target] = 1
        kind = StreamTraffic if victim == "stream" else MatrixTraffic
        return dict.fromkeys(self.operations(values, ranks), kind(size, ranks, weights, node_ranks=node_ranks))

    def apart_s(self, values: Mapping[str, Any]) -> float:
        return values["counted"] * SHOWN_S + PAUSE_S if values.get("counted") else 0.0

    def collective_of(self, operation: str) -> str:
        name = split_op(operation)[0].partition(BESIDE)[0]
        return "" if name in AT_ONCE or name in IN_PAIRS else name

    def collectives(self, values: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(filter(None, [self.collective_of(values["victim"])]))

    def words(self, values: Mapping[str, Any]) -> str:
        return f"{values['victim']} {values['place']}, {len(values['traffic'])} beside"

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        return super().flat(values) | {"bytes": values["size"], "traffic_bytes": values["traffic_size"]}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Those of the victim, and as long traffic as it takes: about as many bursts as calls."""
        own = ranks * values.get("window", 2) if values["victim"] in IN_PAIRS else ranks * (ranks - 1)
        turns, beside = 1 + len(values["traffic"]), len(values["beside"])
        bursts = sum(beside * (beside - 1 if "alltoall" in word else 1) for word in values["traffic"])
        return calls * (turns * (own + barrier_messages(ranks)) + bursts * values["burst"])

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        return values["size"]


def jobs_of(study: InterferenceStudy, fabric: Fabric, shape: Shape, where: Place) -> tuple[list[int], list[int]] | str:
    """Ranks of both jobs; or why this place does not exist. Of a single node its ranks are split."""
    hosts, why = find_hosts(study, fabric, shape)
    if why:
        return why
    one, each, leaf = shape.nodes == 1, shape.ranks_per_node, [0] * shape.nodes
    if one:
        leaf = [0] * shape.ranks
    elif fabric.network is not None:
        network = build_network(fabric)
        leaf = network.leaf[network.indices(list(hosts))].tolist()
    elif where in ("same-leaf", "other-leaf"):
        return "the fabric file does not say which nodes are under one leaf"
    split = split_places(where, leaf, study.interference.share, study.measure.seed or 1)
    if isinstance(split, str) or one:
        return split
    ends = ([(node, local) for node in nodes for local in range(each)] for nodes in split)
    measuring, others = ([rank_at(*end, shape.nodes, each, study.placement.order) for end in own] for own in ends)
    return measuring, others


def _counted(
    study: InterferenceStudy, fabric: Fabric, shape: Shape, jobs: tuple[list[int], list[int]], several: Network | None
) -> tuple[int, int]:
    """Jobs that a cell counts by themselves: its own; all others in one cell of a place; 0 without several ways."""
    if several is None or shape.nodes == 1:
        return 0, 0
    leaf = several.leaf[several.indices(list(find_hosts(study, fabric, shape)[0]))].tolist()
    order, section = study.placement.order, study.interference
    under = [{leaf[node_of(rank, shape.nodes, shape.ranks_per_node, order)] for rank in job} for job in jobs]
    return (1, 1 + len(section.aggressors) * len(section.rates)) if max(map(len, under)) > 1 else (0, 0)


def _traffic_need(values: Mapping[str, Any]) -> dict[str, int]:
    ranks, size = len(values["beside"]), values["traffic_size"]
    return {"traffic": size + BURSTS * max(ranks - 1, 1) * values["burst"] * (size + 2 * RECORD), **staging(ranks)}


def values_of(
    section: InterferenceSection, victim: str, where: Place, measuring: list[int], others: list[int]
) -> dict[str, Any]:
    """Values of a cell."""
    window = {"window": section.window} if victim == "stream" else {}
    words = [word_of(each, rate) for each in section.aggressors for rate in sorted(section.rates)]
    return {
        "place": where, "victim": victim, "size": section.large if victim in MOVING else section.small, **window,
        "traffic": words, "traffic_size": section.traffic, "burst": section.burst, "chunk": section.chunk,
        "members": measuring, "beside": others,
    }  # fmt: skip


def split_places(place: Place, leaf: Sequence[int], share: float, seed: int) -> tuple[list[int], list[int]] | str:
    """Places of the job that measures and of the other, ascending, by the leaf of each place; or why there are none."""
    members: dict[int, list[int]] = {}
    for index, own in enumerate(leaf):
        members.setdefault(own, []).append(index)
    chosen = list(range(len(leaf)))
    if place == "other-leaf":
        if len(members) < 2:
            return "all nodes are under one leaf"
        measuring: list[int] = []
        for own in list(members.values())[:-1]:
            if measuring and len(measuring) + len(own) / 2 > share * len(leaf):
                break
            measuring += own
        return _enough(measuring, chosen)
    if place == "same-leaf":
        chosen = max(members.values(), key=len)
    if place == "random":
        return _enough(random.Random(seed).sample(chosen, round(share * len(chosen))), chosen)
    return _enough([each for k, each in enumerate(chosen) if int((k + 1) * share + 0.5) > int(k * share + 0.5)], chosen)


def _enough(measuring: Sequence[int], chosen: Sequence[int]) -> tuple[list[int], list[int]] | str:
    others = [each for each in chosen if each not in set(measuring)]
    if min(len(measuring), len(others)) < FEWEST:
        return f"{len(measuring)} and {len(others)} of {len(chosen)} for two jobs of at least {FEWEST}"
    return sorted(measuring), others
