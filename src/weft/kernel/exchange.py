# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``exchange``: the parallel sort of the tara papers, n m-vectors of doubles over p ranks."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from weft.errors import FabricError, StudyError
from weft.expression import evaluate
from weft.fabric.model import Fabric
from weft.kernel import Shape, Sizes, Sweep
from weft.kernel.exchange_study import ExchangeSeries, ExchangeStudy
from weft.kernel.sampling import Sampling
from weft.kernel.traffic import Mirror, Traffic, Uniform
from weft.study import Measure, Series, Study
from weft.units import format_bytes

DOUBLE = INDEX = 8
INT = 4
KEY_PLACE = 16  # a key and where it stood
ROW = 24
SCRATCH = 17  # a duration, a collective time and a late mark

# What an MPI library takes for itself: its heap and shared segments, and the eager buffers it keeps for each peer it
# has spoken to. An estimate over Open MPI, MPICH and MVAPICH2 with their default settings, on the high side.
STAGING_BASE = 32 * 2**20
STAGING_PEER = 128 * 2**10


class Exchange:
    """Sizes, memory and traffic of the exchange."""

    name = "exchange"
    main = "C"
    batched = False
    study: type[Study] = ExchangeStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """Values of n and m at each shape.

        Raises
        ------
        StudyError
            An n that p^2 does not divide (it names the nearest that it does), or an m that is no whole number from 1.
        """
        assert isinstance(study, ExchangeStudy)
        assert isinstance(series, ExchangeSeries)
        where = f"{study.path}: series.{study.series.index(series)}"
        lengths = [vector_length(series, shape, shapes[0], where) for shape in shapes]
        contention = study.exchange.data == "contention"
        step = math.lcm(*(shape.ranks**2 for shape in shapes)) if contention else 1
        notes: tuple[str, ...] = ()
        if series.n == "auto":
            n, notes = automatic_n(series, lengths[0], step, fabric)
        else:
            n = series.n
            if contention:
                divisible(n, shapes, step, where)
        common: dict[str, Any] = {"n": n, "data": study.exchange.data}
        if contention:
            common["calls"] = list(study.exchange.calls)
        if study.exchange.file:
            common["file"] = str((study.path.parent / study.exchange.file).resolve())
        return Sweep(tuple((shape, common | {"m": m}) for shape, m in zip(shapes, lengths, strict=True)), notes)

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """Bytes of each part of one rank's memory; the C++ kernel counts the same parts.

        ``unsorted``, ``sorted``
            l_n m-vectors each, l_n = ceil(n / p). A sample sort may receive more than it sent: both arrays hold what
            regular sampling allows at most (:class:`weft.kernel.sampling.Sampling`). The proof works in these two, on
            iterations of its own: it needs no third.
        ``int buffers``
            Send and receive of call B: l_n ints each (contention only).
        ``index``
            The order found by the local sort: a key and a place for each vector (sample sort of m > 1 only).
        ``counts``
            Counts and displacements to send and receive, 4 p ints, and where blocks begin.
        ``splitters``
            Samples of the sample sort: rank 0 holds those of all ranks.
        ``samples``
            24 bytes a sample, preallocated for every operation, and the scratch of the stop rule.
        ``library staging``
            What MPI itself takes, by estimate: a base, and eager buffers for each peer.
        """
        n, m = values["n"], values["m"]
        local = math.ceil(n / ranks)
        if values["data"] == "contention":
            calls = values["calls"]
            array = local * m * DOUBLE if "C" in calls else 0
            own = {"int buffers": 2 * local * INT if "B" in calls else 0}
            operations, begins = len(calls), ranks + 1
        else:
            sampling = Sampling(n, ranks)
            array = sampling.receive_bound * m * DOUBLE
            gathered = sampling.total + local // sampling.width + ranks
            own = {"index": local * KEY_PLACE if m > 1 else 0, "splitters": gathered * KEY_PLACE}
            operations, begins = 5, 4 * (ranks + 1)
        rows = 1 + max(measure.max_samples, 16)
        return {
            "unsorted": array,
            "sorted": array,
            **own,
            "counts": 4 * ranks * INT + begins * INDEX,
            "samples": operations * rows * ROW + rows * SCRATCH,
            "library staging": STAGING_BASE + STAGING_PEER * ranks,
        }

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Bytes of a block (l_n / p vectors; the mean one for a sample sort), of l_n vectors, and of all n."""
        array = values["n"] * values["m"] * DOUBLE
        return Sizes(block=array // ranks**2, local=array // ranks, array=array)

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        """Traffic of A, B and C, and of a whole sample sort (``total``).

        A needs ceil(log2 p) rounds at least: no rank can know of more than 2^k others after k. Blocks of a vector call
        go straight to their rank: one latency, p - 1 messages. Uniform and skewed keys lie in random order, so each
        rank has the same share for every other. What a file holds is known to nobody: only the latency bounds it.
        """
        rounds, direct = math.ceil(math.log2(ranks)), min(1, ranks - 1)
        sizes = self.sizes(values, ranks)
        counts = Uniform(INT, rounds, rounds)
        if values["data"] == "contention":
            ints = Uniform(INT * (values["n"] // ranks**2), direct, ranks - 1)
            vectors = Uniform(sizes.block, direct, ranks - 1)
            known: dict[str, Traffic] = {"A": counts, "B": ints, "C": vectors}
            return {call: known[call] for call in values["calls"]}
        if values["data"] == "reverse":
            moved: Traffic = Mirror(sizes.local, direct, direct)
        else:
            moved = Uniform(0 if values["data"] == "file" else sizes.block, direct, direct)
        return {"A": counts, "C": moved, "total": moved}

    def flat(self, values: Mapping[str, Any]) -> list[str]:
        """Lines of the flat plan."""
        lines = [f"{key} {values[key]}" for key in ("n", "m", "data", "file") if key in values]
        return [*lines, f"calls {' '.join(values.get('calls', ['A', 'C']))}"]


def vector_length(series: ExchangeSeries, shape: Shape, first: Shape, where: str) -> int:
    """``m`` at a shape. With ``s`` local memory can be held constant whether nodes or ranks are added."""
    grown = Fraction(shape.ranks, first.ranks)
    names = {"N": shape.nodes, "p": shape.ranks, "r": shape.ranks_per_node, "s": grown}
    try:
        m = evaluate(series.m, names)
    except StudyError as problem:
        raise StudyError(f"{where}.m: {problem.what}", problem.remedy) from None
    if m < 1:
        raise StudyError(f'{where}.m: "{series.m}" is {m} for N = {shape.nodes}, p = {shape.ranks}', "m starts at 1")
    return m


def automatic_n(series: ExchangeSeries, m: int, step: int, fabric: Fabric) -> tuple[int, tuple[str, ...]]:
    """The multiple of ``step`` that makes one array of the series' first cell nearest to the size wanted."""
    wanted = series.array
    if isinstance(wanted, float):
        if fabric.node.memory is None:
            raise FabricError(
                f'{fabric.path}: node.memory is missing, and series "{series.name}" wants a share of it',
                'add memory to [node], such as "24 GiB", or give array as a size',
            )
        wanted = int(wanted * fabric.node.memory)
    target = min(size for size in (wanted, series.array_most) if size is not None)
    steps = max(1, (target + step * m * DOUBLE // 2) // (step * m * DOUBLE))
    n = steps * step
    if n * m * DOUBLE > 2 * target:
        note = (
            f"series {series.name}: n = {n:,} is the smallest that p^2 divides for every p, so the first array has "
            f"{format_bytes(n * m * DOUBLE)} where {format_bytes(target)} were wanted: "
            "fewer ranks, or a smaller m, make it less"
        )
        return n, (note,)
    return n, ()


def divisible(n: int, shapes: Sequence[Shape], step: int, where: str) -> None:
    """Refuse an ``n`` whose blocks would not be whole, naming the nearest that are."""

    def nearest(divisor: int) -> int:
        return max(1, (n + divisor // 2) // divisor) * divisor

    for shape in shapes:
        square = shape.ranks**2
        if n % square:
            raise StudyError(
                f"{where}.n = {n} is not divisible by p^2 = {square} at N = {shape.nodes}, p = {shape.ranks}: "
                "blocks of n / p^2 vectors would not be whole",
                f"nearest n for p = {shape.ranks}: {nearest(square)}; for every p of the series: {nearest(step)}; "
                'or n = "auto" with array or array_most',
            )
