# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a study of pairs at one shape: blocks of rounds, by their estimated times, or of drawn pairs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from weft.errors import StudyError
from weft.fabric.loads import name_cable, name_link
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_followed
from weft.fabric.network.graph import Ints, Network
from weft.format import format_bytes, format_seconds, plural
from weft.kernel import Shape, find_hosts
from weft.kernel.budget import ROW_BYTES
from weft.kernel.pairs.matchings import Round, draw_alone, draw_matchings
from weft.kernel.pairs.study import Chosen, PairsStudy, draw_pairs, draw_rounds
from weft.kernel.sizes import window_of
from weft.kernel.tournament import SAME_NODE, Classes, PairSchedule
from weft.latest import Latest

LATENCY_WITHIN_S, LATENCY_BETWEEN_S = 1e-6, 20e-6  # if the fabric states none; a factor of ten is near enough
RATE_WITHIN, RATE_BETWEEN = 2e9, 1e9
TAKES = 11  # decisions of the stop rule for one round and size: cold, warm-up, a few chunks
TAKE_S, TURN_S = 50e-6, 200e-6  # barrier and one decision; waking the ranks whose turn it is
MOST_BLOCKS = 900
RAW_MOST = 2**30  # most bytes of a run's samples that are stored individually
SEED = 26  # if the study gives none
BOTH_WAYS = 4096  # bytes from which the messages of a check move both ways at once
_LAST = Latest[list[Round]]()  # a check plans twice, as the time of a round depends on their number


class Pace(NamedTuple):
    """Estimated seconds of one round of one shape: between nodes, and within them."""

    together: Sequence[float]  # with the study's concurrency
    isolated: Sequence[float]  # one pair at a time

    def of(self, schedule: PairSchedule, number: int, *, contention: bool) -> float:
        """Seconds of one round."""
        place = 1 if schedule.is_within(number) else 0
        return self.together[place] + (self.isolated[place] if contention else 0.0)


def pace_of(study: PairsStudy, fabric: Fabric, schedule: PairSchedule) -> Pace:
    """Estimated seconds of rounds on a fabric."""
    ways = (study.pairs.concurrency, "isolated")
    return Pace(*([round_s(study, fabric, schedule, way, within) for within in (False, True)] for way in ways))


def round_s(study: PairsStudy, fabric: Fabric, schedule: PairSchedule, concurrency: str, within: bool) -> float:
    """Seconds of one round: cold, warm-up, and three times the least number of samples, each direction in turn."""
    measure = study.measure
    trips = 1 + min(measure.warmup_most, 25) + min(3 * measure.min_samples, measure.max_samples)
    in_turn = {"isolated": schedule.nodes * schedule.slots // 2, "node": 1 if within else schedule.slots}
    turns = in_turn.get(concurrency, 1)
    sharing = schedule.slots if concurrency == "all" and not within else 1
    total = 0.0
    for size in study.pairs.bytes:
        each = 4 * trips * one_way_s(fabric, window_of(study.pairs.under_way, size) * size, within, sharing)
        total += turns * min(each, 1.2 * measure.budget) + TAKES * (TAKE_S + (turns > 1) * turns * TURN_S)
    return total


def one_way_s(fabric: Fabric, size: int, within: bool, sharing: int) -> float:
    """Seconds of ``size`` bytes one way, while ``sharing`` pairs share the adapter."""
    if within:
        return (fabric.node.latency or LATENCY_WITHIN_S) + size / RATE_WITHIN
    network = fabric.network
    latency = network.latency if network and network.latency else LATENCY_BETWEEN_S
    rate = network.adapter_rate if network and network.adapter_rate else RATE_BETWEEN
    return latency + sharing * size / rate


def blocks(
    schedule: PairSchedule, rounds: Sequence[int], also_isolated: set[int], pace: Pace, target_s: float
) -> list[dict[str, Any]]:
    """Values of cells of consecutive rounds, ascending, that take about ``target_s`` seconds each."""
    total_s = sum(pace.of(schedule, number, contention=number in also_isolated) for number in rounds)
    target_s = max(target_s, total_s / MOST_BLOCKS)
    found: list[dict[str, Any]] = []
    first, lasted_s = 0, 0.0
    for at, (number, following) in enumerate(pairwise([*rounds, -1])):
        contention = number in also_isolated
        lasted_s += pace.of(schedule, number, contention=contention)
        parts = following != number + 1 or (following in also_isolated) != contention
        if parts or lasted_s >= target_s:
            own = {"first_round": rounds[first], "last_round": number, "contention": contention}
            found.append(own | {"expected_s": round(lasted_s, 3)})
            first, lasted_s = at + 1, 0.0
    return found


def shape_values(study: PairsStudy, fabric: Fabric, shape: Shape) -> tuple[list[dict[str, Any]], list[str]]:
    """The cells of a shape, and notes for the user."""
    section = study.pairs
    ranks = np.arange(shape.ranks, dtype=np.int32)
    node_of = ranks // shape.ranks_per_node if study.placement.order == "block" else ranks % shape.nodes
    schedule = PairSchedule(node_of)
    pace = pace_of(study, fabric, schedule)
    names, places, network, hosts = coordinates(study, fabric, shape)
    common: dict[str, Any] = {"bytes": list(section.bytes), "mode": section.concurrency, "contention": False, **places}
    common |= section.under_way
    if section.threads == "multiple":
        common |= {"threads": "multiple", "setting": {"WEFT_THREADS": "multiple"}}
    where = f"{shape.ranks} ranks on {plural(shape.nodes, 'node')}"
    seed = SEED if study.measure.seed is None else study.measure.seed
    if section.matchings is not None:
        drawn, note = matched(study, node_of, places, network, hosts, names, seed)
        seconds = pace.together[shape.nodes == 1] * len(drawn)
        own = {"matchings": len(drawn), "both_ways": BOTH_WAYS} | ({"part": section.part} if section.part else {})
        return [common | _of_pairs(drawn) | own | {"expected_s": round(seconds, 3)}], [f"{where}: {note}"]
    alone_s = schedule.between * pace.isolated[0] + schedule.within * pace.isolated[1]
    if section.concurrency == "isolated" and section.sample_rounds is None and alone_s > section.isolated_most:
        chosen, counts = draw_pairs(Classes(node_of, network, hosts), section.sample_pairs, seed)
        places = ("on one node" if each == SAME_NODE else f"at {each - 1} hops" for each in counts)
        drawn = ", ".join(f"{count} {where}" for count, where in zip(counts.values(), places, strict=True))
        note = (
            f"{where}: isolated pairs are a sample, drawn by seed {seed} ({drawn}): all "
            f"{shape.ranks**2 - shape.ranks:,} would take about {format_seconds(alone_s)} a launch; "
            "pairs.isolated_most and sample_pairs set it"
        )
        pair_s = 2 * max(pace.isolated) / (schedule.nodes * schedule.slots)  # of the slower kind of round
        parts = stretches(chosen, pair_s, section.block)
        return [common | _of_pairs(some) | {"expected_s": seconds} for some, seconds in parts], [note]
    return tournament(study, schedule, pace, common, where, seed)


def _of_pairs(rounds: Chosen) -> dict[str, Any]:
    return {"store": "raw", "pairs": [[list(pair) for pair in pairs] for pairs in rounds]}


def matched(
    study: PairsStudy, node_of: Ints, places: Mapping[str, list[int]], network: Network | None, hosts: Ints | None,
    names: Sequence[str], seed: int,
) -> tuple[Chosen, str]:  # fmt: skip
    """Rounds of disjoint pairs of ranks in which whole nodes meet, and a note for the user."""
    nodes, count = int(node_of.max()) + 1, study.pairs.matchings or 0
    apart = [place for place, name in enumerate(names) if name in study.pairs.aim]
    local = [[int(rank) for rank in np.flatnonzero(node_of == node)] for node in range(nodes)]
    if network is None or hosts is None or "leaf" not in places:
        network, hosts = None, None
    aim = [name for name in study.pairs.aim if name not in names]
    given = (nodes, count, seed, apart, places, network, hosts, aim)
    rounds = _LAST.get(given, lambda: _drawn(*given))
    why = "between whole leaves" if network else "the topology is not known, so few nodes send at a time"
    if network and network.cables_known:
        why += ", divided so that no cable carries more than its rate"
    chosen: Chosen = []
    seen: set[tuple[int, int]] = set()
    for each in rounds:  # the table of pairs has one time for each: nobody meets again
        met = [pair for one, other in each.pairs for pair in zip(local[int(one)], local[int(other)], strict=False)]
        fresh = [pair for a, b in met if (pair := (min(a, b), max(a, b))) not in seen]
        seen.update(fresh)
        chosen += [fresh] if fresh else []
    return chosen, f"{len(chosen)} rounds of disjoint pairs, drawn by seed {seed}: {why}"


def _drawn(
    nodes: int, count: int, seed: int, apart: Sequence[int], places: Mapping[str, list[int]], network: Network | None,
    hosts: Ints | None, aim: Sequence[str],
) -> list[Round]:  # fmt: skip
    if network is None:
        return draw_alone(nodes, count, seed, apart)
    leaf, pod = (np.array(places[name], np.int32) if name in places else None for name in ("leaf", "pod"))
    assert leaf is not None
    known = (network, hosts) if network.cables_known else (None, None)
    links = [part_links(network, name) for name in aim] if network.cables_known else []
    return draw_matchings(leaf, pod, count, seed, *known, links, apart)


def part_links(network: Network, name: str) -> Ints:
    """Links of a cable, of one direction (``leaf2 -> spine0``) or into a switch; StudyError if there is none."""
    hosts = len(network.hosts)
    switches = [switch.name for switch in network.switches]
    if name in switches:
        return np.flatnonzero(network.links.target == hosts + switches.index(name)).astype(np.int32)
    between = np.flatnonzero(network.switch_links).astype(np.int32)
    found = [link for link in between.tolist() if name in (name_link(network, link), name_cable(network, link // 2))]
    if not found:
        raise StudyError(f"[pairs] aim: the fabric has no cable or switch {name!r}", "weft fabric show FILE lists them")
    return np.array(found, np.int32)


def stretches(chosen: Chosen, pair_s: float, target_s: float) -> Iterable[tuple[Chosen, float]]:
    """Rounds of drawn pairs, divided into parts of about ``target_s`` seconds; each with its expected seconds."""
    some: Chosen = []
    for number, pairs in enumerate(chosen):
        some.append(pairs)
        seconds = pair_s * sum(map(len, some))
        if seconds >= target_s or number == len(chosen) - 1:
            yield some, round(seconds, 3)
            some = []


def tournament(
    study: PairsStudy, schedule: PairSchedule, pace: Pace, common: dict[str, Any], where: str, seed: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Cells of the tournament, or of rounds drawn from it, and notes."""
    section, notes = study.pairs, list[str]()
    rounds = list(range(schedule.rounds))
    if section.sample_rounds is not None and section.sample_rounds < schedule.rounds:
        rounds = draw_rounds(schedule, section.sample_rounds, seed)
        notes.append(f"{where}: {len(rounds)} of {schedule.rounds} rounds, drawn by seed {seed} (pairs.sample_rounds)")
    also_isolated = set(rounds) if section.contention else set[int]()
    alone_s = sum(pace.of(schedule, number, contention=True) for number in also_isolated)
    if alone_s > section.isolated_most:
        count = max(2, int(len(rounds) * section.isolated_most / alone_s))
        also_isolated = set(draw_rounds(schedule, count, seed) if len(rounds) == schedule.rounds else rounds[:count])
        notes.append(
            f"{where}: {len(also_isolated)} of {len(rounds)} rounds, drawn by seed {seed}, are measured isolated, too: "
            f"all would take about {format_seconds(alone_s)} a launch (pairs.isolated_most)"
        )
    operations = (len(rounds) + len(also_isolated)) * len(section.bytes) * schedule.nodes * schedule.slots
    samples = min(3 * study.measure.min_samples, study.measure.max_samples)
    volume, store = operations * study.measure.launches * samples * ROW_BYTES, section.store
    if store == "auto":
        store = "summary" if volume > RAW_MOST else "raw"
        much = f"summaries of each pair instead of about {format_bytes(volume)} of samples (pairs.store)"
        notes += [f"{where}: {much}"] if store == "summary" else []
    common |= {"store": store, "rounds": schedule.rounds}
    return [common | each for each in blocks(schedule, rounds, also_isolated, pace, section.block)], notes


def coordinates(
    study: PairsStudy, fabric: Fabric, shape: Shape
) -> tuple[tuple[str, ...], dict[str, list[int]], Network | None, Ints | None]:
    """Names of the nodes, leaf and pod of each, the network, host indices (nodes,); empty or None where not known."""
    hosts, _ = find_hosts(study, fabric, shape)  # of none the plan adds a row with the reason
    if len(hosts) < 2 or fabric.network is None:
        return hosts, {}, None, None
    network = build_followed(fabric)
    chosen = network.indices(list(hosts))
    columns = {key: network.coordinates[key][chosen].tolist() for key in ("leaf", "pod") if key in network.coordinates}
    return hosts, columns, network, chosen
