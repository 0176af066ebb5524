# SPDX-License-Identifier: BSD-3-Clause
"""Routing engines by name: the tables of a fabric, Weft's own d-mod-k, and OpenSM's."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import FabricError
from weft.fabric.network import Network
from weft.launch.opensm import manage
from weft.route.compare import Routed
from weft.route.dmodk import d_mod_k

PRESENT, OWN = "present", "dmodk"
SCATTER = "+scatter"  # minhop+scatter7: OpenSM's --scatter-ports 7


def routed(network: Network, engines: Sequence[str], keep: Path | None = None) -> list[Routed]:
    """The network as each engine routes it.

    Parameters
    ----------
    network
        The network with its present tables.
    engines
        ``present``, ``dmodk`` or an engine of OpenSM, perhaps with ``+scatterN`` for its option ``--scatter-ports N``.
    keep
        A folder for what OpenSM dumps, one folder an engine below it.

    Raises
    ------
    LaunchError
        OpenSM is asked for and missing, or makes no tables.
    FabricError
        The name is none.
    """
    return [_one(network, name, keep) for name in dict.fromkeys(engines or (PRESENT,))]


def _one(network: Network, name: str, keep: Path | None) -> Routed:
    if name == PRESENT:
        return Routed(PRESENT, network)
    if name == OWN:
        return Routed(OWN, d_mod_k(network))
    engine, plus, seed = name.partition(SCATTER)
    if not engine or (plus and not (seed.isascii() and seed.isdigit())):
        raise FabricError(
            f"no engine {name!r}", "take present, dmodk, or one of OpenSM's: minhop, ftree, minhop+scatter7"
        )
    options = ("--scatter-ports", seed) if plus else ()
    made = manage(network, engine, options=options, keep=keep / name if keep else None)
    if not made.fell_back:
        return Routed(name, made.network)
    why = "; ".join(made.reasons[:2]) or "its log gives no reason"
    return Routed(
        f"{name} (fell back to {made.used})",
        made.network,
        f"OpenSM fell back from {engine} to {made.used} in silence: {why}",
    )
