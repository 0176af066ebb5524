# SPDX-License-Identifier: BSD-3-Clause
"""Routing engines by name: the tables of a fabric, Weft's own d-mod-k, and OpenSM's."""

from collections.abc import Sequence
from pathlib import Path

from weft.errors import FabricError
from weft.fabric.network import Network
from weft.fabric.readers.lanes import Service
from weft.launch.opensm import manage
from weft.route.compare import Routed
from weft.route.dmodk import d_mod_k

PRESENT, OWN = "present", "dmodk"
SCATTER = "+scatter"  # minhop+scatter7: OpenSM's --scatter-ports 7


def routed(
    network: Network, engines: Sequence[str], keep: Path | None = None, service: Service | None = None
) -> list[Routed]:
    """The network with the routes of each engine: ``present``, ``dmodk``, or OpenSM's, as ``ftree+scatter8``.

    Raises LaunchError: OpenSM is missing, or produces no tables. Raises FabricError: there is no engine of that name.
    """
    return [_one(network, name, keep, service) for name in dict.fromkeys(engines or (PRESENT,))]


def _one(network: Network, name: str, keep: Path | None, service: Service | None) -> Routed:
    if name == PRESENT:
        return Routed(PRESENT, network, service=service)
    if name == OWN:
        return Routed(OWN, d_mod_k(network))
    engine, plus, seed = name.partition(SCATTER)
    if not engine or (plus and not (seed.isascii() and seed.isdigit())):
        raise FabricError(
            f"there is no engine {name!r}", "use present, dmodk, or one of OpenSM's: minhop, ftree, minhop+scatter7"
        )
    options = ("--scatter-ports", seed) if plus else ()
    made = manage(network, engine, options=options, keep=keep / name if keep else None)
    if not made.fell_back:
        return Routed(name, made.network)
    why = "; ".join(made.reasons[:2]) or "its log gives no reason"
    return Routed(
        f"{name} (fell back to {made.used})",
        made.network,
        f"OpenSM silently fell back from {engine} to {made.used}: {why}",
    )
