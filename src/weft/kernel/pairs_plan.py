# SPDX-License-Identifier: BSD-3-Clause
"""The cells of a study of pairs at one shape: which rounds, or which drawn pairs, in which blocks."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.fabric.hops import host_hops
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.placement import NoRoomError, place
from weft.kernel import Shape
from weft.kernel.exchange import ROW
from weft.kernel.pairs_blocks import Pace, blocks, pace_of
from weft.kernel.pairs_sampling import Chosen, draw_pairs, draw_rounds
from weft.kernel.pairs_schedule import PairSchedule
from weft.kernel.pairs_study import PairsStudy
from weft.units import format_bytes, format_seconds

RAW_MOST = 2**30  # bytes of a run's samples that are kept one by one
SEED = 26  # where the study gives none
SAME_NODE = 0


def shape_values(study: PairsStudy, fabric: Fabric, shape: Shape) -> tuple[list[dict[str, Any]], list[str]]:
    """The cells of a shape, and what a reader should know about them."""
    section = study.pairs
    ranks = np.arange(shape.ranks, dtype=np.int32)
    node_of = ranks // shape.ranks_per_node if study.placement.order == "block" else ranks % shape.nodes
    schedule = PairSchedule(node_of)
    pace = pace_of(study, fabric, schedule)
    places, hops = coordinates(study, fabric, shape)
    common: dict[str, Any] = {"bytes": list(section.bytes), "mode": section.concurrency, "contention": False, **places}
    where = f"{shape.ranks} ranks on {shape.nodes} node{'s' if shape.nodes > 1 else ''}"
    seed = SEED if study.measure.seed is None else study.measure.seed
    alone_s = pace.total(schedule, isolated=True)
    if section.concurrency == "isolated" and section.sample_rounds is None and alone_s > section.isolated_most:
        chosen, counts = draw_pairs(classes(node_of, hops), section.sample_pairs, seed)
        told = ", ".join(f"{count} {class_name(each)}" for each, count in counts.items())
        note = (
            f"{where}: isolated pairs are a sample, drawn by seed {seed} ({told}): all "
            f"{shape.ranks**2 - shape.ranks:,} would take about {format_seconds(alone_s)} a launch; "
            "pairs.isolated_most and sample_pairs set it"
        )
        cells: list[dict[str, Any]] = []
        for some, seconds in stretches(chosen, pace.pair_s(schedule), section.block):
            pairs = [[list(pair) for pair in each] for each in some]
            cells.append(common | {"store": "raw", "pairs": pairs, "expected_s": seconds})
        return cells, [note]
    return tournament(study, schedule, pace, common, where, seed)


def stretches(chosen: Chosen, pair_s: float, target_s: float) -> Iterable[tuple[Chosen, float]]:
    """Rounds of drawn pairs, cut into stretches of about ``target_s``; each with the seconds it is expected to take."""
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
    """Cells of the tournament, or of the rounds drawn from it."""
    section, notes = study.pairs, list[str]()
    rounds = list(range(schedule.rounds))
    if section.sample_rounds is not None and section.sample_rounds < schedule.rounds:
        rounds = draw_rounds(schedule, section.sample_rounds, seed)
        notes.append(f"{where}: {len(rounds)} of {schedule.rounds} rounds, drawn by seed {seed} (pairs.sample_rounds)")
    also_isolated = set(rounds) if section.contention else set[int]()
    alone_s = sum(pace.of(schedule, number, contention=True) for number in also_isolated)
    if alone_s > section.isolated_most:
        count = max(2, int(len(rounds) * section.isolated_most / alone_s))
        also_isolated = (
            set(draw_rounds(schedule, count, seed)) if len(rounds) == schedule.rounds else set(rounds[:count])
        )
        notes.append(
            f"{where}: {len(also_isolated)} of {len(rounds)} rounds, drawn by seed {seed}, are measured isolated, too: "
            f"all would take about {format_seconds(alone_s)} a launch (pairs.isolated_most)"
        )
    store = section.store
    if store == "auto":
        samples = min(3 * study.measure.min_samples, study.measure.max_samples)
        operations = (len(rounds) + len(also_isolated)) * len(section.bytes) * study.measure.launches
        volume = operations * samples * ROW * schedule.nodes * schedule.slots
        store = "raw" if volume <= RAW_MOST else "summary"
        if store == "summary":
            notes.append(
                f"{where}: summaries of each pair instead of about {format_bytes(volume)} of samples (pairs.store)"
            )
    cells = [
        common
        | {
            "store": store,
            "contention": block.contention,
            "rounds": schedule.rounds,
            "first_round": block.first,
            "last_round": block.last,
            "expected_s": block.expected_s,
        }
        for block in blocks(schedule, rounds, also_isolated, pace, section.block)
    ]
    return cells, notes


def coordinates(
    study: PairsStudy, fabric: Fabric, shape: Shape
) -> tuple[dict[str, list[int]], NDArray[np.int16] | None]:
    """Leaf and pod of each node of a shape, and the hops between them; nothing where the fabric does not say."""
    if fabric.network is None or shape.nodes < 2:
        return {}, None
    try:
        hosts = place(fabric, study.placement.nodes, shape.nodes)
    except NoRoomError:  # becomes a row of its own, with the reason
        return {}, None
    network = build_network(fabric)
    chosen = network.indices(list(hosts))
    columns = {key: network.coordinates[key][chosen].tolist() for key in ("leaf", "pod") if key in network.coordinates}
    return columns, host_hops(network, chosen)


def classes(node_of: NDArray[np.integer[Any]], hops: NDArray[np.int16] | None) -> NDArray[np.int16]:
    """Class of each pair of ranks: 0 on one node, else 1 + hops (or 1 where nothing is known of the network)."""
    nodes = int(node_of.max()) + 1
    between = np.ones((nodes, nodes), np.int16) if hops is None else (hops + 1).astype(np.int16)
    np.fill_diagonal(between, SAME_NODE)
    return between[np.ix_(node_of, node_of)]


def class_name(number: int) -> str:
    """A class in words."""
    return "on one node" if number == SAME_NODE else f"at {number - 1} hops"
