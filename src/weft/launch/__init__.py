# SPDX-License-Identifier: BSD-3-Clause
"""The only room that starts processes: one launcher for each kind of fabric, and building the kernels."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.errors import FabricError, LaunchError

if TYPE_CHECKING:  # plans and bounds come with it: a fifth of a second for verbs that only build the library of routes
    from weft.launch.launcher import Launcher

# kinds other than schedulers, imported when asked for: each offers make_launcher(fabric, mpicxx, say, only) -> Launcher
MODULES = {
    "local": "weft.launch.local",
    "virtual": "weft.launch.virtual.launcher",
    "simulated": "weft.launch.simulated.launcher",
}
BATCH = "weft.launch.batch.launcher"


def launcher_for(
    fabric: Any,
    mpicxx: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    *,
    pcap: Sequence[str] = (),
    cancel: bool = False,
    repeatable: bool = False,
    only: str = "",
) -> "Launcher":
    """The launcher for a fabric, by its kind; LaunchError if it needs what is missing, FabricError as `refuse_capture`.
    `mpicxx`: compiler wrapper chosen by the user, or None to search for one. `say`: called with one line before
    anything that takes seconds. `repeatable`: what a model simulates is decided by what it is expected to cost, not by
    what this host took for the launches before, so that every host simulates the same cells.
    """
    from weft.launch.batch.schedulers import SCHEDULERS

    if pcap:
        refuse_capture(fabric, pcap)
    modules = MODULES | dict.fromkeys(SCHEDULERS, BATCH)
    if fabric.kind not in modules:
        what = f"this Weft cannot start ranks on a fabric of kind {fabric.kind!r}"
        raise LaunchError(what, f"kinds that can: {', '.join(modules)}")
    make = import_module(modules[fabric.kind]).make_launcher
    launcher = make(cancelling(fabric) if cancel else fabric, mpicxx, say, only)
    if repeatable and fabric.is_model:
        launcher.learns = False
    if pcap:
        launcher.pcap = tuple(pcap)
    return launcher


def cancelling(fabric: Any) -> Any:
    """The fabric with ``cancel_on_interrupt`` in its ``[batch]``."""
    from weft.fabric.model import BatchSection

    section = (fabric.batch or BatchSection.model_validate({})).model_copy(update={"cancel_on_interrupt": True})
    return fabric.model_copy(update={"batch": section})


def refuse_capture(fabric: Any, nodes: Sequence[str]) -> None:
    """FabricError if no packets can be captured at these nodes of a fabric, LaunchError without ``tcpdump``."""
    if fabric.kind != "virtual":
        what = f"--pcap captures at a node of a virtual fabric; {fabric.name} is of kind {fabric.kind}"
        raise FabricError(what, "leave it out, or measure on a virtual fabric: --on virtual-default")
    for node in nodes:
        if node not in fabric.hosts:
            raise FabricError(f"--pcap {node}: {fabric.name} has no such node", f"its nodes: {', '.join(fabric.hosts)}")
    from weft.launch.virtual.counters import refuse_missing_tcpdump

    refuse_missing_tcpdump()
