# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a cell that is placed on a fabric: the terms of each of its operations (:mod:`weft.bound.terms`)."""

from collections.abc import Mapping

from weft.bound.effects import effects
from weft.bound.links import injection_term, link_term
from weft.bound.terms import Bound, Placed, copy_term, largest, message_terms
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.traffic import Traffic


def bounds(cell: Placed, fabric: Fabric) -> dict[str, Bound]:
    """Lower bound of each operation of a cell whose traffic is known and for which the fabric states a rate.

    Raises
    ------
    FabricError
        The network cannot be built: its dump is missing, or of other nodes.
    """
    moved = kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks)
    found = {call: _with_effects(traffic, cell, fabric) for call, traffic in moved.items()}
    return {call: each for call, each in found.items() if each}


def _with_effects(traffic: Traffic, cell: Placed, fabric: Fabric) -> Bound | None:
    terms = terms_of(traffic, cell, fabric)
    least = largest(terms)
    return least and least.model_copy(update={"effects": effects(traffic, cell, fabric, terms)})


def bound(cell: Placed, fabric: Fabric, call: str | None = None) -> Bound | None:
    """Lower bound of one operation of a cell; None if no term is known.

    Raises FabricError: The network cannot be built.
    """
    found = bounds(cell, fabric)
    return found.get(call) if call else main_of(cell.kernel, found)


def main_of(kernel: str, found: Mapping[str, Bound]) -> Bound | None:
    """Bound of the kernel's main operation, or of the last one if the study omits the main one."""
    main = kernel_named(kernel).main
    return found.get(main) or next(reversed(list(found.values())), None)


def terms_of(
    traffic: Traffic, cell: Placed, fabric: Fabric, links: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Seconds of each term of the bound, without those that are 0.

    Parameters
    ----------
    traffic, cell, fabric
        The bytes moved, the ranks and nodes, and the rates.

    Raises
    ------
    FabricError
        The network cannot be built.
    """
    if links is None:
        links = injection_term(traffic, cell, fabric) | link_term(traffic, cell, fabric)
    terms = copy_term(traffic, cell, fabric) | dict(links) | message_terms(traffic, cell, fabric)
    return {name: seconds for name, seconds in terms.items() if seconds > 0}
