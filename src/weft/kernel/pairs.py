# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``pairs``: one-way latency of every pair of ranks, a block of rounds of a tournament a cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.kernel import Shape, Sizes, Sweep
from weft.kernel.exchange import ROW, STAGING_BASE, STAGING_PEER
from weft.kernel.pairs_study import PairsStudy
from weft.kernel.traffic import Traffic
from weft.study import DOUBLING, Measure, Series, Study

BESIDE = 3  # rows a finding has beside its samples: cold, forward, again
SUMMARY_ROWS = 7 + 128  # order statistics, and as many buckets as a slow tail may fill


class Pairs:
    """Rounds, memory and flat keys of the pairs."""

    name = "pairs"
    main = "pairs"
    batched = True
    study: type[Study] = PairsStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """Blocks of rounds at each shape.

        Raises
        ------
        StudyError
            No shape of the series has two ranks.
        """
        from weft.kernel.pairs_plan import shape_values  # NumPy, which no other verb needs

        assert isinstance(study, PairsStudy)
        several = [shape for shape in shapes if shape.ranks > 1]
        if series.nodes == DOUBLING:  # smaller sets of nodes hold some of the same pairs
            several = [shape for shape in several if shape.nodes == max(shape.nodes for shape in shapes)]
        if not several:
            raise StudyError(
                f"{study.path}: series.{study.series.index(series)}: {shapes[0].ranks} rank has nobody to meet",
                "give nodes or ranks_per_node of at least 2",
            )
        values: list[tuple[Shape, dict[str, Any]]] = []
        notes: list[str] = []
        for shape in several:
            found, told = shape_values(study, fabric, shape)
            values += [(shape, each) for each in found]
            notes += [f"series {series.name}: {line}" for line in told]
        if len(several) < len(shapes):
            largest = ", ".join(f"{shape.nodes} x {shape.ranks_per_node}" for shape in several)
            notes.append(
                f"series {series.name}: only {largest} ranks: "
                "fewer nodes hold some of the same pairs, one rank has none"
            )
        return Sweep(tuple(values), tuple(notes))

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory; the C++ kernel counts the same parts.

        ``messages``
            One message of the largest size to send, one to receive.
        ``samples``
            24 bytes a sample of each round, size and way of measuring (or 135 rows for a summary), three more for
            first contact, forward time and second look; twice, because what is written is a copy. And the scratch of
            the stop rule.
        ``library staging``
            What MPI itself takes, by estimate: a base, and eager buffers for each peer.
        """
        kept = measure.max_samples if values["store"] == "raw" else min(measure.max_samples, SUMMARY_ROWS)
        crowds = 2 if values["contention"] else 1
        operations = count_rounds(values) * len(values["bytes"]) * crowds
        return {
            "messages": 2 * max(1, *values["bytes"], 1),
            "samples": 2 * operations * (kept + BESIDE) * ROW + crowds * measure.max_samples * (ROW + 8),
            "library staging": STAGING_BASE + STAGING_PEER * ranks,
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """The largest message."""
        return Sizes(block=max(values["bytes"]))

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """A pair is bounded by its own route, not by what all send: the table of pairs says more."""
        return {}

    def flat(self, values: Mapping[str, Any]) -> list[str]:
        """Lines of the flat plan."""
        lines = [
            f"bytes {' '.join(map(str, values['bytes']))}",
            f"mode {values['mode']}",
            f"contention {int(values['contention'])}",
            f"store {values['store']}",
        ]
        if "pairs" in values:
            words = (",".join(f"{low}-{high}" for low, high in rounds) for rounds in values["pairs"])
            lines.append(f"pairs {' '.join(words)}")
        else:
            lines += [f"{key} {values[key]}" for key in ("rounds", "first_round", "last_round")]
        return lines + [f"{key} {' '.join(map(str, values[key]))}" for key in ("leaf", "pod") if key in values]


def count_rounds(values: Mapping[str, Any]) -> int:
    """Rounds of a cell."""
    return len(values["pairs"]) if "pairs" in values else values["last_round"] - values["first_round"] + 1
