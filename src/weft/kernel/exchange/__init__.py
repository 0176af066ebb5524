# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``exchange``: the parallel sort of the tara papers, n m-vectors of doubles over p ranks."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from weft.errors import FabricError, StudyError
from weft.fabric.model import Fabric
from weft.format import format_bytes, percent
from weft.kernel import FlatValue, Kernel, Shape, Sizes, Sweep
from weft.kernel.budget import DOUBLE_BYTES, INT_BYTES, sample_bytes, staging
from weft.kernel.exchange.study import MOST_N, ExchangeSeries, ExchangeStudy, evaluate, regular_sampling
from weft.kernel.steps import breakdown_messages, breakdown_need, is_explained
from weft.kernel.traffic import Mirror, Traffic, Uniform, barrier_messages
from weft.mpi.alltoall import chosen, combines, with_own
from weft.study import Measure, Series, Study

INDEX_BYTES = 8
KEY_PLACE_BYTES = 16  # a key and its index


class Exchange(Kernel):
    """Sizes, memory and traffic of the exchange."""

    name = "exchange"
    main = "C"
    incidental = frozenset({"n", "m", "calls", "explain"})
    batched = False
    fitted = ("A", "B", "C")
    keys = ("n", "m", "data", "file", "algorithm")
    inputs = ("file",)
    called = frozenset({"alltoall", "alltoallv"})  # A exchanges counts; B and C have blocks
    study: type[Study] = ExchangeStudy

    def sweep(self, study: Study, series: Series, shapes: Sequence[Shape], fabric: Fabric) -> Sweep:
        """StudyError if p^2 does not divide n, or m is no whole number from 1."""
        assert isinstance(study, ExchangeStudy)
        assert isinstance(series, ExchangeSeries)
        where = f"{study.path}: series.{study.series.index(series)}"
        lengths = [vector_length(series, shape, shapes[0], where) for shape in shapes]
        contention = study.exchange.data == "contention"
        step = math.lcm(*(shape.ranks**2 for shape in shapes)) if contention else 1
        if step > MOST_N:
            what = f"{where}: no n up to 2^50 is divisible by p^2 for all {len(shapes)} numbers of ranks p"
            raise StudyError(what, "give fewer of them, or such that divide each other: 1, 2, 4, 8")
        n, notes = automatic_n(series, lengths[0], step, fabric) if series.n == "auto" else (series.n, ())
        if contention:
            divisible(n, shapes, step, where)
        common: dict[str, Any] = {"n": n, "data": study.exchange.data, **chosen(study.exchange.algorithm)}
        if contention:
            common["calls"] = list(study.exchange.calls)
            common |= {"explain": True} if study.explain else {}
        if study.exchange.file:
            common["file"] = str((study.path.parent / study.exchange.file).resolve())
        return Sweep(tuple((shape, common | {"m": m}) for shape, m in zip(shapes, lengths, strict=True)), notes)

    def program(self, study: Study) -> str:
        assert isinstance(study, ExchangeStudy)
        return with_own(self.name, study.exchange.algorithm)

    def smaller(self, study: Study, share: float, nodes: int) -> tuple[Study, str] | None:
        assert isinstance(study, ExchangeStudy)
        if all(series.n != "auto" for series in study.series):
            return None
        sized = study.model_copy(update={"series": tuple(each.sized_by(share) for each in study.series)})
        return sized, f"arrays have {percent(share)} of the size that the study asks for"

    def need(self, values: Mapping[str, Any], ranks: int, measure: Measure) -> dict[str, int]:
        """``unsorted``, ``sorted``: l_n = ceil(n / p) m-vectors each; of a sample sort, where a rank may receive more
        than it sent, the upper bound of `regular_sampling`. The proof uses the same two. ``int buffers``: send and
        receive of call B, l_n ints each. ``index``: the order from the local sort, a key and a position for each
        vector, if m > 1. ``counts``: counts and displacements, 4 p ints, and the starts of blocks. ``splitters``:
        samples of the sample sort; rank 0 has those of all ranks.
        """
        n, m = values["n"], values["m"]
        local = math.ceil(n / ranks)
        if values["data"] == "contention":
            calls = values["calls"]
            array = local * m * DOUBLE_BYTES if "C" in calls else 0
            own = {"int buffers": 2 * local * INT_BYTES if "B" in calls else 0}
            operations, begins = len(calls), ranks + 1
        else:
            width, samples, most = regular_sampling(n, ranks)
            array = most * m * DOUBLE_BYTES
            gathered = samples + local // width + ranks
            own = {"index": local * KEY_PLACE_BYTES if m > 1 else 0, "splitters": gathered * KEY_PLACE_BYTES}
            operations, begins = 5, 4 * (ranks + 1)
        own |= {"counts": 4 * ranks * INT_BYTES + begins * INDEX_BYTES, "samples": sample_bytes(operations, measure)}
        own |= breakdown_need(len(self.explained(values, ranks)), ranks, measure)
        return {"unsorted": array, "sorted": array, **own, **staging(ranks)}

    def explained(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        """C, or B if C is not measured; none for a sort, whose blocks depend on its keys."""
        calls = [call for call in ("C", "B") if call in values.get("calls", ())]
        return calls[:1] if is_explained(values, ranks) else []

    def sizes(self, values: Mapping[str, Any], ranks: int) -> Sizes:
        """Bytes of a block (l_n / p vectors; the mean one for a sample sort), of l_n vectors, and of all n."""
        array = values["n"] * values["m"] * DOUBLE_BYTES
        return Sizes(block=array // ranks**2, local=array // ranks, array=array)

    def traffic(self, values: Mapping[str, Any], ranks: int) -> dict[str, Traffic]:
        # One latency is certain, and not ceil(log2 p) of them for A: a rank can send to all others at once, and within
        # a node messages take less. For A a rank sends at least one message; blocks of a vector call go directly to
        # their rank, p - 1 messages, or at least one where the algorithm combines blocks. Uniform and skewed keys are
        # in random order: each rank has the same share for every other. Of a file's content nothing is known.
        direct = min(1, ranks - 1)
        sizes = self.sizes(values, ranks)
        counts = Uniform(INT_BYTES, direct, direct)
        if values["data"] == "contention":
            messages = direct if combines(values.get("algorithm", "")) else ranks - 1
            ints = Uniform(INT_BYTES * (values["n"] // ranks**2), direct, messages)
            known: dict[str, Traffic] = {"A": counts, "B": ints, "C": Uniform(sizes.block, direct, messages)}
            return {call: known[call] for call in values["calls"]}
        if values["data"] == "reverse":
            moved: Traffic = Mirror(sizes.local, direct, direct)
        else:
            moved = Uniform(0 if values["data"] == "file" else sizes.block, direct, direct)
        return {"A": counts, "C": moved, "total": moved}

    def operations(self, values: Mapping[str, Any], ranks: int) -> list[str]:
        return list(values["calls"]) if values["data"] == "contention" else ["total"]

    def words(self, values: Mapping[str, Any]) -> str:
        return " ".join(filter(None, (f"{values['m']:,}", values.get("algorithm", ""))))

    def flat(self, values: Mapping[str, Any]) -> dict[str, FlatValue]:
        timed: dict[str, FlatValue] = {"calls": timed_calls(values)}
        return super().flat(values) | timed | ({"explain": 1} if values.get("explain") else {})

    def messages(self, values: Mapping[str, Any], ranks: int, calls: int) -> int:
        each = ranks * (ranks - 1) + barrier_messages(ranks)
        breakdowns = len(self.explained(values, ranks)) * (each + breakdown_messages(ranks))
        return calls * (len(timed_calls(values)) * each + breakdowns)

    def blocks(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[int]]:
        """Of the contention set: n / p^2 ints for B, as many vectors for C. What a sort sends depends on its keys."""
        if values["data"] != "contention":
            return {}
        sizes = {"A": INT_BYTES, "B": INT_BYTES * values["n"] // ranks**2, "C": self.sizes(values, ranks).block}
        calls = {"alltoall": "A", "alltoallv": "BC"}
        return {name: [sizes[call] for call in timed_calls(values) if call in own] for name, own in calls.items()}

    def exchanges(self, values: Mapping[str, Any], ranks: int) -> Sequence[tuple[str, str, int]]:
        if values["data"] != "contention":
            return ()
        local, block = values["n"] // ranks, self.sizes(values, ranks).block
        known: dict[str, tuple[str, int]] = {
            "A": ("alltoall", INT_BYTES if local < 2**31 else INDEX_BYTES),
            "B": ("alltoallv", INT_BYTES * local // ranks),
            "C": ("alltoallv", block),
        }
        return [(name, *known[name]) for name in values["calls"]]

    def direct(self, values: Mapping[str, Any], ranks: int) -> Mapping[str, Sequence[tuple[int, int]]]:
        if values["data"] == "contention":
            return super().direct(values, ranks)
        each = ranks * (ranks - 1)
        return {"alltoall": [(INT_BYTES, each)], "alltoallv": [(self.sizes(values, ranks).block, each)]}

    def smallest(self, values: Mapping[str, Any], ranks: int) -> int:
        """Those of A and B are small; C sends blocks of n m / p^2 doubles."""
        return 0 if {"A", "B"} & set(timed_calls(values)) else -(-DOUBLE_BYTES * values["n"] * values["m"] // ranks**2)

    def content_bytes(self, values: Mapping[str, Any]) -> int:
        """Both arrays of a sort, twice for data in flight; 0 for the contention set, whose content does not matter."""
        return 0 if values["data"] == "contention" else 4 * DOUBLE_BYTES * values["n"] * values["m"]


def timed_calls(values: Mapping[str, Any]) -> list[str]:
    """The calls that a cell times; a sample sort consists of A and C."""
    return list(values.get("calls", ["A", "C"]))


def vector_length(series: ExchangeSeries, shape: Shape, first: Shape, where: str) -> int:
    """``m`` at a shape, from an expression that may have ``s``, the growth in ranks; StudyError if it is none."""
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
    """The multiple of ``step`` whose first array is nearest to the size wanted; FabricError without memory."""
    wanted = series.array
    if isinstance(wanted, float):
        if fabric.node.memory is None:
            what = f'{fabric.path}: node.memory is missing, and series "{series.name}" asks for a share of it'
            raise FabricError(what, 'add memory to [node], such as "24 GiB", or give array as a size')
        wanted = int(wanted * fabric.node.memory)
    target = min(size for size in (wanted, series.array_most) if size is not None)
    step_bytes = step * m * DOUBLE_BYTES
    steps = max(1, (target + step_bytes // 2) // step_bytes)
    if steps * step_bytes <= 2 * target:
        return steps * step, ()
    note = (
        f"series {series.name}: n = {steps * step:,} is the smallest that p^2 divides for every p, so the first array "
        f"has {format_bytes(steps * step_bytes)} where {format_bytes(target)} were wanted: "
        "fewer ranks, or a smaller m, make it less"
    )
    return steps * step, (note,)


def divisible(n: int, shapes: Sequence[Shape], step: int, where: str) -> None:
    """StudyError for an ``n`` that p^2 does not divide at every shape; names the nearest that it does."""
    if wrong := next((shape for shape in shapes if n % shape.ranks**2), None):
        square = wrong.ranks**2
        nearest, of_all = (max(1, (n + divisor // 2) // divisor) * divisor for divisor in (square, step))
        raise StudyError(
            f"{where}.n = {n} is not divisible by p^2 = {square} at N = {wrong.nodes}, p = {wrong.ranks}: "
            "blocks of n / p^2 vectors would not be whole",
            f"nearest n for p = {wrong.ranks}: {nearest}; for every p of the series: {of_all}; "
            'or n = "auto" with array or array_most',
        )
