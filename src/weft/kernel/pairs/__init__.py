# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``pairs``: latency or rate of every pair of ranks. A cell is a block of rounds of a tournament."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep, counted
from weft.kernel.budget import MOST_PARTNERS, ROW_BYTES, staging
from weft.kernel.pairs.study import PairsStudy
from weft.kernel.sizes import window_of
from weft.kernel.traffic import barrier_messages
from weft.study import DOUBLING, Measure, Series, Study

MOST_RANKS = 100_000
LINE = 64  # bytes of a cache line
PINGS = 8  # messages per sample of a pair: round trips that either rank starts, timed ones and those before them
BARRIERS = 6  # of a cell, beside those of its rounds: what ranks agree on, look at again and gather
BESIDE = 3  # rows of a result besides its samples: cold, forward, again
RAW_FORWARD_BYTES = 16  # send and arrival time of a ping
ANSWER_BYTES = 16  # arrival time of a ping, and what disturbed the rank that answered it
NODE_REPORT_BYTES = 48 * 2**20  # copies by which a node is compared with its peers
SUMMARY_ROWS = 7 + 128  # order statistics, and the most buckets that a slow tail fills


class Pairs(Kernel):
    """Cells, memory and keys of the flat plan of the pairs."""

    name = "pairs"
    main = "pairs"
    incidental = frozenset({"bytes", "first_round", "last_round", "setting"})
    has_pair_samples = True
    study: type[Study] = PairsStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """Blocks of rounds at each shape; StudyError if none has two ranks, or one has over 100,000."""
        from weft.kernel.pairs.plan import shape_values

        assert isinstance(study, PairsStudy)
        several = [shape for shape in shapes if shape.ranks > 1]
        if series.nodes == DOUBLING:  # smaller sets of nodes have only pairs that larger ones have too
            several = [shape for shape in several if shape.nodes == max(shape.nodes for shape in shapes)]
        where = f"{study.path}: series.{study.series.index(series)}"
        if not several:
            what = f"{where}: {shapes[0].ranks} rank has no partner"
            raise StudyError(what, "give nodes or ranks_per_node of at least 2")
        most = max(shape.ranks for shape in several)
        if most > MOST_RANKS:
            what = f"{where}: {most:,} ranks make {most * (most - 1):,} pairs"
            raise StudyError(what, f"give nodes or ranks_per_node that make at most {MOST_RANKS:,} ranks")
        values, notes = list[tuple[Shape, dict[str, Any]]](), list[str]()
        for shape in several:
            found, remarks = shape_values(study, fabric, shape)
            values += [(shape, each) for each in found]
            notes += [f"series {series.name}: {line}" for line in remarks]
        if len(several) < len(shapes):
            largest = ", ".join(f"{shape.nodes} x {shape.ranks_per_node}" for shape in several)
            why = "fewer nodes hold some of the same pairs, one rank has none"
            notes.append(f"series {series.name}: only {largest} ranks: {why}")
        return Sweep(tuple(values), tuple(notes))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """``messages``: one of the largest size to send, one to receive; for a rate with ``places = "apart"`` a window
        of them, in whole cache lines. ``samples``: a row for each sample of each round, size and concurrency (or 135
        for a summary), and three more for first contact, forward time and repeat; twice, because the data written are a
        copy. The send and arrival time of each ping, until the clocks are corrected. The scratch of the stop rule.
        ``node report``: of matchings, what each node copies to report on itself.
        """
        most, sizes, modes = measure.max_samples, values["bytes"], 2 if values["contention"] else 1
        kept = most if values["store"] == "raw" else min(most, SUMMARY_ROWS)
        message = max(1, *sizes)
        if "window" in values and values.get("places", "apart") == "apart":
            message = max(window_of(values, size) * -(-size // LINE) * LINE for size in sizes)
        operations = count_rounds(values) * len(sizes) * modes
        own = operations * (2 * (kept + BESIDE) * ROW_BYTES + most * RAW_FORWARD_BYTES)
        return {
            "messages": 2 * message,
            "samples": own + modes * most * (ROW_BYTES + ANSWER_BYTES),
            **({"node report": NODE_REPORT_BYTES} if "matchings" in values else {}),
            **staging(min(ranks, max(count_rounds(values), MOST_PARTNERS))),
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        return Sizes(block=max(values["bytes"]))

    def calls_s(self, values: Mapping[str, Any], seconds: float) -> float:
        """None of ``seconds`` where one pair runs at a time: no flows meet."""
        return seconds if values["contention"] or values["mode"] != "isolated" else 0.0

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        return [self.main]

    def partners(self, values: Mapping[str, Any]) -> int:
        return count_rounds(values)

    def words(self, values: Mapping[str, Any]) -> str:
        mode = f"isolated and {values['mode']}" if values["contention"] else values["mode"]
        if "pairs" not in values:
            return counted(values, mode, f"rounds {values['first_round']}-{values['last_round']}")
        count, several = sum(map(len, values["pairs"])), values.get("matchings")
        return counted(values, mode, f"{count} pairs in {several} matchings" if several else f"{count} drawn pairs")

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        found: dict[str, FlatValue] = {key: values[key] for key in ("bytes", "mode", "store")}
        found |= {"contention": int(values["contention"])} | ({"check": 1} if "matchings" in values else {})
        found |= {key: values[key] for key in ("threads", "window", "window_bytes", "places") if key in values}
        if "pairs" in values:
            found["pairs"] = [",".join(f"{low}-{high}" for low, high in rounds) for rounds in values["pairs"]]
        keys = ("rounds", "first_round", "last_round", "leaf", "pod", "both_ways", "part")
        return found | {key: values[key] for key in keys if key in values}

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        """Eight per sample of a pair, in one mode or both, and barriers: along a tree in matchings."""
        barrier = 2 * ranks if "matchings" in values else barrier_messages(ranks)
        # drawn pairs are isolated: a token passes from one to the next
        rounds = 1 if "pairs" in values and "matchings" not in values else count_rounds(values)
        modes = 1 + bool(values.get("contention"))  # contention is measured beside isolated pairs
        sizes = values["bytes"]
        each = (pings(values, calls, ranks) * window_of(values, size) * count_parts(values, size) for size in sizes)
        return modes * sum(many + rounds * barrier for many in each) + BARRIERS * barrier

    def copied(self, values: Mapping[str, Any], ranks: int, calls: int) -> Sequence[tuple[int, int]]:
        """Its pings; the messages of a rate are not."""
        modes = 1 + bool(values.get("contention"))
        sizes = [size for size in values["bytes"] if window_of(values, size) == 1]
        return [(size, modes * pings(values, calls, ranks)) for size in sizes]


def pings(values: Mapping[str, Any], calls: int, ranks: int) -> int:
    """Messages of all pairs of one size and mode."""
    pairs = sum(map(len, values["pairs"])) if "pairs" in values else count_rounds(values) * ranks // 2
    return PINGS * calls * pairs


def count_parts(values: Mapping[str, Any], size: int) -> int:
    """Parts in which a message is sent: one, but of those both ways at once by ``part``."""
    return max(-(-size // values["part"]), 1) if "part" in values and size >= values["both_ways"] else 1


def count_rounds(values: Mapping[str, Any]) -> int:
    """Number of rounds of a cell."""
    return len(values["pairs"]) if "pairs" in values else values["last_round"] - values["first_round"] + 1
