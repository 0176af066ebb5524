# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of fabrics and their properties, one row per kind. Other rooms ask for a property, never for a kind."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FabricKind:
    """What the kind of a fabric implies; all of it false for a real cluster.

    Attributes
    ----------
    is_this_host
        Its only node is the present host, which fills in what the file leaves out.
    runs_here
        Its ranks run on the present host, so that memory is copied at this host's rate.
    is_emulated
        Its network is emulated by links that are limited with token buckets (:mod:`weft.fabric.shaping`).
    is_model
        Its times come from a model: the same again at every launch, by the rates that the fabric file states.
    label
        Label of every title and number that was not measured on a real network; empty for one that was.
    """

    is_this_host: bool = False
    runs_here: bool = False
    is_emulated: bool = False
    is_model: bool = False
    label: str = ""


#: By the name that fabric files and stored runs give it.
KINDS: dict[str, FabricKind] = {
    "local": FabricKind(is_this_host=True, runs_here=True),
    "virtual": FabricKind(runs_here=True, is_emulated=True, label="virtual network"),
    "simulated": FabricKind(is_model=True, label="simulated"),
    "slurm": FabricKind(),
    "pbs": FabricKind(),
    "lsf": FabricKind(),
    "flux": FabricKind(),
}
MODEL = "simulated"


def known_kind(name: str) -> str:
    """Return the name of a kind.

    Raises
    ------
    ValueError
        There is no such kind.
    """
    if name not in KINDS:
        *others, last = (repr(kind) for kind in KINDS)
        raise ValueError(f"must be {', '.join(others)} or {last}")
    return name
