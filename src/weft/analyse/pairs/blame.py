# SPDX-License-Identifier: BSD-3-Clause
"""The causes of slow pairs: a node, a link, one pair, or a hop class that splits into two groups (METHOD 19).

From coarse to fine; each step works on what the earlier ones leave unexplained: nodes, links and switches from the
node matrix; a route between two nodes; a rank; the memory of a node; two groups in a hop class; a single pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.analyse.engine import Expression
from weft.analyse.pairs.culprit import Culprit, Sighting, merged
from weft.analyse.pairs.decide import decompose
from weft.analyse.pairs.direction import direction
from weft.analyse.pairs.matrix import NodeMatrix, node_matrices, node_medians
from weft.analyse.pairs.median_polish import Decomposition, Effect
from weft.analyse.pairs.places import Places
from weft.analyse.pairs.refine import memories, modes_of, ranks_of, routes_of, slow_pairs, without_ranks
from weft.analyse.pairs.remainders import fitted_table, remainders
from weft.analyse.pairs.round_loads import ALONE, TOGETHER, by_load
from weft.analyse.pairs.scratch import Scratch
from weft.analyse.pairs.suspects import Suspect, suspects
from weft.analyse.tables.pairs import LEAST_TOLD_S
from weft.format import format_factor

#: The two directions of a cable are reported apart if their factors differ by more than this.
UNEQUAL = 1.2


@dataclass(frozen=True, eq=False)
class Blame:
    """The causes found for slow pairs, and the intermediate results.

    Attributes
    ----------
    culprits
        Causes, the strongest first; empty if none stands out.
    matrices, taken
        The node matrix of each size and mode, and its decomposition.
    left
        Each pair with its remainder (`weft.analyse.pairs.remainders`).
    """

    culprits: tuple[Culprit, ...]
    matrices: tuple[NodeMatrix, ...]
    taken: tuple[Decomposition, ...]
    left: Expression


def blame(placed: Expression, places: Places, scratch: Scratch, *, modelled: bool = False, named: bool = True) -> Blame:
    """Find the causes of slow pairs."""
    suspected = suspects(places) if named else []
    matrices, taken, left = _left(by_load(placed, places), places, suspected)
    found: list[Culprit] = []
    for matrix, parts in zip(matrices, taken, strict=True):
        found += _all_named(matrix, parts, suspected)
        found += routes_of(matrix, parts, places)
    left = scratch.keep("remainders", left)
    if not named:
        return Blame((), tuple(matrices), tuple(taken), left)
    told = left.filter(left.base_s >= LEAST_TOLD_S)
    ranks = ranks_of(told, places)
    others = without_ranks(told, ranks)
    classes, groups = modes_of(others, places)
    if modelled:
        classes = [each for each, key in zip(classes, groups, strict=True) if key[1] == ALONE]
    elif any(mode == TOGETHER for _, mode, _ in groups):
        # pairs of which one way alone is crowded make a group of their own, and nothing is at fault
        even = scratch.keep("even", _left(by_load(placed, places, mean=True), places, suspected)[2])
        still = modes_of(without_ranks(even, ranks), places)[1]
        classes = [each for each, key in zip(classes, groups, strict=True) if key[1] != TOGETHER or key in still]
    found += [*memories(others, places), *classes, *ranks]
    found += slow_pairs(others, places, groups, found)
    return Blame(tuple(merged(found)), tuple(matrices), tuple(taken), left)


def _left(
    placed: Expression, places: Places, suspected: Sequence[Suspect]
) -> tuple[list[NodeMatrix], list[Decomposition], Expression]:
    """The node matrix of each size and mode, its decomposition, and what that leaves of each pair."""
    matrices = node_matrices(node_medians(placed), len(places.nodes))
    taken = [decompose(matrix.time_s, places, suspected) for matrix in matrices]
    return matrices, taken, remainders(placed, fitted_table(matrices, taken), len(places.nodes))


def _all_named(matrix: NodeMatrix, parts: Decomposition, suspected: Sequence[Suspect]) -> list[Culprit]:
    """All suspects found slow; the two links of a cable as one cable."""
    left = list(parts.effects)
    found: list[Culprit] = []
    while left:
        effect = left.pop(0)
        back = next((other for other in left if effect.suspect.back in _links_of(other.suspect)), None)
        if not effect.suspect.back or back is None:
            found.append(_named(effect, matrix, parts))
            continue
        left.remove(back)
        cable = next(each for each in suspected if f"cable {effect.suspect.cable}" in _all_names(each))
        found.append(_cable(effect, back, matrix, cable))
    return found


def _links_of(suspect: Suspect) -> list[str]:
    """The names of the links that a suspect stands for."""
    return [each.name for each in (suspect, *suspect.same) if each.kind == "link"]


def _all_names(suspect: Suspect) -> list[str]:
    """The suspect and those that cannot be distinguished from it, each with its kind."""
    return [f"{each.kind} {each.name}" for each in (suspect, *suspect.same)]


def _cable(forth: Effect, back: Effect, matrix: NodeMatrix, cable: Suspect) -> Culprit:
    """A cable with two slow links: a round trip over both takes the mean of their factors."""
    one, other = (2 * effect.factor - 1 for effect in (forth, back))
    seen = Sighting(matrix.bytes, matrix.mode, (one + other) / 2, None, min(forth.share, back.share))
    detail = "in both directions"
    if max(one, other) > UNEQUAL * min(one, other):
        factors = ((forth.suspect.name, one), (back.suspect.name, other))
        detail += " (" + ", ".join(f"{name} {format_factor(factor)} x" for name, factor in factors) + ")"
    also = [name for name in _all_names(cable) if name != f"cable {forth.suspect.cable}"]
    return Culprit("cable", forth.suspect.cable, "", (seen,), len(cable.cells), tuple(also), detail)


def _named(effect: Effect, matrix: NodeMatrix, parts: Decomposition) -> Culprit:
    """A suspect found slow, with its slow direction."""
    suspect = effect.suspect
    role, one_way = direction(effect, matrix, parts)
    also = [f"{other.kind} {other.name}" for other in suspect.same]
    seen = Sighting(matrix.bytes, matrix.mode, effect.factor, one_way, effect.share)
    if suspect.kind == "node":
        return Culprit("node", suspect.name, role, (seen,), effect.pairs, tuple(also))
    if suspect.kind == "link":
        return _link(effect, seen, role, also)
    return Culprit(suspect.kind, suspect.name, "", (seen,), effect.pairs, tuple(also))


def _link(effect: Effect, seen: Sighting, role: str, also: Sequence[str]) -> Culprit:
    """A slow link. If the same pairs also cross its reverse, only one-way times can show which of the two is slow."""
    suspect = effect.suspect
    back = next((other for other in suspect.same if other.kind == "link"), None)
    cable = next((other for other in suspect.same if other.kind == "cable"), None)
    if back is None or cable is None or role == "sender":
        others = [
            name
            for name in also
            if cable is None or name not in (f"cable {cable.name}", f"link {back.name}" if back else "")
        ]
        return Culprit("link", suspect.name, "", (seen,), effect.pairs, tuple(others), cable=suspect.cable)
    others = tuple(name for name in also if name not in (f"cable {cable.name}", f"link {back.name}"))
    if role == "receiver":
        return Culprit("link", back.name, "", (seen,), effect.pairs, others, cable=back.cable)
    detail = "in both directions" if role == "both" else "in one direction or both"
    return Culprit("cable", cable.name, "", (seen,), effect.pairs, others, detail)
