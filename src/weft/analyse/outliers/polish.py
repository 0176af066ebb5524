# SPDX-License-Identifier: BSD-3-Clause
"""Candidates for slow pairs of nodes, each with the pairs that it touches, and the median polish of a node matrix.

Base of each class and factor of each outlier are fitted in turn until they converge.

Half a round trip of a and b takes base x (f(a, b) + f(b, a)) / 2, where f(a, b) is the product of the factors of all
outliers on the route from a to b. An outlier slows one direction only (a link), or both (`Candidate.slowed`): with
destination-based routes, a pair may cross a cable in one direction and not in the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import follow_routes, group_messages
from weft.analyse.outliers.rule import LEAST_FACTOR
from weft.analyse.pairs.places import Places
from weft.fabric.hops import walk
from weft.fabric.loads import name_cable, name_link
from weft.store.tables import grouped

Kind = Literal["node", "link", "cable", "switch", "leaves"]
Cells = NDArray[np.int64]
#: With more nodes than this the routes of all pairs would fill the memory, so only nodes are candidates.
MOST_NODES = 1024
FEWEST_NODES = 4  # with fewer nodes than this, too few pairs are left that a slow node does not touch
Floats = NDArray[np.float64]
MOST_OF_CLASS = 0.9  # a candidate that touches more than this share of a class cannot be distinguished from the class
FEWEST_CLEAN = 4  # with fewer untouched pairs than this, a class cannot show how much slower the touched ones are
SWEEPS = 3
LEAST_LEFT = 0.05  # a factor below this comes from the scatter of pairs or the error of another outlier


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node, link, cable, switch or pair of leaves that may be slow."""

    kind: Kind
    name: str  # a node or a switch by name, a directed link or a cable by its two ends, or two leaves
    # pairs of nodes that it touches in either direction, as indices into the flattened node matrix. Half a round trip
    # contains both directions, so a pair belongs to a link even if only the way back crosses it.
    cells: Cells
    forth: Cells  # those of them that it touches from source to target
    # other candidates that touch exactly the same pairs: no measurement of pairs can distinguish them
    same: "tuple[Candidate, ...]" = ()
    cable: str = ""  # of a link: the name of its cable
    back: str = ""  # ... and of the link in the other direction
    parts: "tuple[Candidate, ...]" = ()  # of a cable whose two directions serve different pairs: its two links

    @property
    def titles(self) -> list[str]:
        """Its kind and name, and those of the candidates that cannot be distinguished from it."""
        return [f"{each.kind} {each.name}" for each in (self, *self.same)]

    @property
    def slowed(self) -> Cells:
        """Pairs whose forward direction is taken as slower (pairs,): `forth`, or `cells` where undecidable. A node may
        be slow either way, as may both links of a cable that the same pairs cross: half a round trip is the same.
        """
        ways = (other.forth for other in self.same if other.kind == "link")
        apart = self.kind in ("link", "switch") and all(np.array_equal(forth, self.forth) for forth in ways)
        return self.forth if apart else self.cells

    def directions(self, count: int) -> NDArray[np.int8]:
        """How a round trip of each of `cells` crosses it, as a code (cells,): the count, or which links of a cable."""
        if self.kind == "switch":
            return np.isin(self.cells, self.forth).astype(np.int8) + np.isin(turned(self.cells, count), self.forth)
        found = np.zeros(len(self.cells), np.int8)
        for number, part in enumerate(self.parts):
            found[np.isin(self.cells, part.cells)] += 1 << number
        return found


def turned(cells: Cells, count: int) -> Cells:
    """The way back of each pair of so many nodes."""
    return cells % count * count + cells // count


def list_candidates(places: Places) -> list[Candidate]:
    """All candidates; those that touch the same pairs are one candidate with the name of the first."""
    found: dict[bytes, Candidate] = {}
    for candidate in [*_nodes(places), *_routes(places)] if len(places.nodes) >= FEWEST_NODES else ():
        key = candidate.cells.tobytes()
        first = found.setdefault(key, candidate)
        if first is not candidate:
            found[key] = replace(first, same=(*first.same, candidate))
    return [
        replace(each, parts=tuple(found[part.cells.tobytes()] for part in each.parts)) if each.kind == "cable" else each
        for each in found.values()
    ]


def _nodes(places: Places) -> Iterator[Candidate]:
    count = len(places.nodes)
    for node, name in enumerate(places.nodes):
        yield _candidate("node", name, node * count + np.delete(np.arange(count), node), count)


def _routes(places: Places) -> Iterator[Candidate]:
    if not places.routed or len(places.nodes) > MOST_NODES:
        return
    count, network = len(places.nodes), places.network
    cells = np.flatnonzero(~np.eye(count, dtype=bool))
    source, target = np.divmod(cells, count)
    routes = walk(network, places.host[source], places.host[target])
    by_cable: dict[str, list[Candidate]] = {}
    crossed = follow_routes(network, routes, cells, routes >= 0)
    for part, forth in sorted(crossed, key=lambda each: each[0].kind != "link"):
        found = _candidate(part.kind, part.name, forth, count)  # pyright: ignore[reportArgumentType]
        if part.kind == "link":
            number = part.links[0]
            found = replace(found, cable=name_cable(network, number // 2), back=name_link(network, number ^ 1))
            by_cable.setdefault(found.cable, []).append(found)
        elif part.kind == "cable":
            found = replace(found, parts=tuple(by_cable[found.name]))
        yield found
    leaf = network.leaf[places.host].astype(np.int64)
    low, high = np.minimum(leaf[source], leaf[target]), np.maximum(leaf[source], leaf[target])
    switches, apart = len(network.switches), low != high
    for key, forth in group_messages((low * switches + high)[apart], cells[apart]):
        name = " and ".join(network.switches[each].name for each in divmod(key, switches))
        yield _candidate("leaves", name, forth, count)


def _candidate(kind: Kind, name: str, forth: Cells, count: int) -> Candidate:
    return Candidate(kind, name, np.unique(np.concatenate([forth, turned(forth, count)])), forth)


@dataclass(frozen=True, eq=False)
class Effect:
    """A candidate found to be slow."""

    candidate: Candidate
    factor: float  # by which it alone slows half a round trip: the median over its pairs
    share: float  # share of its pairs that are slower by at least half of that
    pairs: int  # number of measured pairs of nodes that it touches


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A node matrix decomposed."""

    effects: tuple[Effect, ...]  # outliers, the one that explains most of the excess first
    base: Floats  # seconds of the pair's class without outliers, shape (nodes, nodes)
    fitted: Floats  # seconds that base and outliers predict for each pair, shape (nodes, nodes); nan if unknown
    # number of outliers that touch each pair, shape (nodes, nodes); the two links of a cable count as one
    touched: NDArray[np.int16]
    # log(time) - log(fitted), shape (nodes, nodes); nan on the diagonal and for pairs that were not measured
    remainder: Floats


class Polish:
    """Base of each class and factor of each outlier, fitted in turn."""

    def __init__(self, times: Floats, places: Places) -> None:
        count = len(times)
        off = ~np.eye(count, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.logs = np.where(off & (times > 0), np.log(times), np.nan).ravel()
        self.kind = places.classes.ravel().astype(np.int64)
        self.measured = np.isfinite(self.logs)
        self.of_kind = np.bincount(self.kind[self.measured], minlength=self.kind.max() + 1)
        self.count = count
        self.chosen: list[Candidate] = []
        self.own: list[Floats] = []  # log factor of each outlier at each of its `slowed`
        self.way = np.zeros(self.logs.size)  # log of the product of all factors from source to target
        self.base = np.full(self.logs.size, np.nan)
        # where the median of a class's untouched pairs is with one slow node (2 / N of all pairs) or leaf's uplink
        parts = [len(places.nodes), *([len(np.unique(places.network.leaf[places.host]))] if places.routed else [])]
        self._set_base(min(((part - 2) / (2 * part) for part in parts if part > 2), default=0.5), self.measured)

    def contrasts(self, candidate: Candidate) -> bool:
        """Whether some pairs of a class are touched and enough are not; otherwise the whole class is slow."""
        inside = np.bincount(self.kind[candidate.cells][self.measured[candidate.cells]], minlength=len(self.of_kind))
        return bool(((inside >= FEWEST_CLEAN) & (inside <= MOST_OF_CLASS * self.of_kind)).any())

    def contrast(self, candidate: Candidate, left: Floats) -> tuple[float, float]:
        """How much slower a candidate's pairs are than untouched ones of their class, and the number of pairs used.
        ``left``: remainders (nodes * nodes,), logarithms. The number is of one sample with the same error.
        """
        inside = np.zeros(left.size, bool)
        inside[candidate.cells] = True
        clean = self.measured & ~inside & (self.touched() == 0)
        differences: list[Floats] = []
        others = 0
        for kind in np.unique(self.kind[candidate.cells]):
            of = self.kind == kind
            if (of & clean).sum() >= FEWEST_CLEAN:
                differences.append(left[of & inside & np.isfinite(left)] - np.median(left[of & clean]))
                others += int((of & clean).sum())
        together = np.concatenate(differences) if differences else np.zeros(0)
        if not together.size:
            return 0.0, 1.0
        return float(np.median(together)), 1 / (1 / together.size + 1 / others)

    def remainder(self) -> Floats:
        """Log of the time over what base and outliers predict, shape (nodes * nodes,), no unit; nan if not measured."""
        back = self.way.reshape(self.count, self.count).T.ravel()
        return self.logs - self.base - (np.logaddexp(self.way, back) - np.log(2))

    def choose(self, candidate: Candidate) -> None:
        """Make a candidate an outlier (of a cable both links, each with its own factor) and repeat the polish."""
        for part in candidate.parts or (candidate,):
            if part not in self.chosen:
                self.chosen.append(part)
                self.own.append(np.zeros(len(part.slowed)))
        touched = self.touched()
        for _ in range(SWEEPS):
            for index, outlier in enumerate(self.chosen):
                self.way[outlier.slowed] -= self.own[index]
                self.own[index] = self._factor(outlier, touched)
                self.way[outlier.slowed] += self.own[index]
            self._set_base(0.5, self.measured & (touched == 0))

    def touched(self) -> NDArray[np.int16]:
        """Counts of outliers that touch each pair, shape (nodes * nodes,); the two links of a cable count as one."""
        found = np.zeros(self.logs.size, np.int16)
        for group in self.groups():
            found[np.unique(np.concatenate([candidate.cells for candidate in group]))] += 1
        return found

    def groups(self) -> list[list[Candidate]]:
        """The outliers, the two links of a cable together."""
        return list(grouped(self.chosen, lambda each: each.cable or f"{each.kind} {each.name}").values())

    def _factor(self, outlier: Candidate, touched: NDArray[np.int16]) -> Floats:
        """The log factor that explains most pairs, by class: a constant delay has a larger factor on near pairs."""
        slowed = np.zeros(self.logs.size, bool)
        slowed[outlier.slowed] = True
        cells, returned = outlier.cells, turned(outlier.cells, self.count)
        there, back = slowed[cells], slowed[returned]
        out, into = np.exp(self.way[cells]), np.exp(self.way[returned])
        whole = 2 * np.exp(self.logs[cells] - self.base[cells])
        factor = (whole - ~there * out - ~back * into) / (there * out + back * into)
        with np.errstate(invalid="ignore"):
            logs = np.log(np.maximum(factor, LEAST_LEFT))
        kinds = self.kind[outlier.slowed]
        own = np.zeros(len(kinds))
        usable, alone = np.isfinite(logs), (touched[cells] == 1) & (outlier.kind == "node")
        for kind in np.unique(kinds):
            known = usable & (self.kind[cells] == kind)
            if (known & alone).sum() >= FEWEST_CLEAN:
                known &= alone  # another outlier may add to this one or not, as their slow directions meet or not
            own[kinds == kind] = np.median(logs[known]) if known.any() else 0.0
        return own

    def _set_base(self, quantile: float, usable: NDArray[np.bool_]) -> None:
        for kind in np.unique(self.kind[self.measured]):
            of = self.kind == kind
            if (of & usable).any():
                self.base[of] = np.quantile(self.logs[of & usable], quantile)

    def result(self) -> Decomposition:
        """The result: outliers whose effect after the polish, as if each were the only one, is `LEAST_FACTOR`."""
        left, shape = self.remainder(), (self.count, self.count)
        effects: list[Effect] = []
        for candidate, own in zip(self.chosen, self.own, strict=True):
            alone = np.zeros(self.logs.size)
            alone[candidate.slowed] = own
            cells = candidate.cells
            felt = np.logaddexp(alone[cells], alone[turned(cells, self.count)]) - np.log(2) + left[cells]
            felt = felt[np.isfinite(felt)]
            middle = float(np.median(felt))
            if middle >= np.log(LEAST_FACTOR):
                effects.append(Effect(candidate, float(np.exp(middle)), float((felt > middle / 2).mean()), len(felt)))
        base, fitted = np.exp(self.base), np.where(self.measured, np.exp(self.logs - left), np.exp(self.base))
        touched = self.touched().reshape(shape)
        return Decomposition(tuple(effects), base.reshape(shape), fitted.reshape(shape), touched, left.reshape(shape))
