# SPDX-License-Identifier: BSD-3-Clause
"""Presets of ``[node]`` and ``[network]``: the numbers of data sheets, by the name of a processor or an adapter.

They are shipped as ``fabrics/presets/node.toml`` and ``network.toml``, each number with its source. A preset is put
into the tree of a fabric file before it is validated, so that nobody who reads a fabric asks whether it has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from weft.errors import FabricError
from weft.fabric.kinds import KINDS
from weft.files.reading import closest, is_table, read_toml
from weft.files.shipped import shipped

SECTIONS = ("node", "network")
USUAL = "usual"
#: Of tara's nine cells from presets, by ``[simulation]``'s model: `weft papers datasheet`, docs/dev/papers-measured.md.
SHEET_ERRORS: Mapping[str, str] = {
    "fair": "34 % in the mean and 79 % at worst",
    "infiniband": "17 % in the mean and 79 % at worst",
}
#: What links between switches are called in the section of each topology: ``link_rate``, ``link_latency``.
LINKS = {"tree": ("link",), "dragonfly": ("local", "global"), "torus": ("link",), "dump": ("link",)}


@dataclass(frozen=True)
class Preset:
    """Numbers of an adapter or processor, with their ranges and sources."""

    section: str  # ``node`` or ``network``
    name: str
    title: str  # a line for people
    values: Mapping[str, Any]  # by key of a fabric file
    usual: Mapping[str, Any]  # what a model takes instead
    ranges: Mapping[str, list[str]]  # what machines of this kind have, from least to most
    sources: Mapping[str, str]


def presets(section: str) -> tuple[Preset, ...]:
    """All presets of a section, ``node`` or ``network``, in the order of the file; FabricError if it is unreadable."""
    _, tree = read_toml(shipped("fabrics") / "presets" / f"{section}.toml", FabricError)
    found: list[Preset] = []
    for name, values in ((name, dict(table)) for name, table in tree.items()):
        title, usual, ranges, sources = (values.pop(part) for part in ("title", USUAL, "ranges", "sources"))
        found.append(Preset(section, name, title, values, usual, ranges, sources))
    return tuple(found)


def preset_named(section: str, name: object) -> Preset:
    """A preset by its name. Raises FabricError: There is none; names the closest one, and all."""
    known = {preset.name: preset for preset in presets(section)}
    if isinstance(name, str) and name in known:
        return known[name]
    near = closest(str(name), known)
    remedy = (f'did you mean "{near}"? ' if near else "") + f"one of {', '.join(known)} (weft fabric presets)"
    raise FabricError(f'"{section}.preset" = {name!r}: no such preset', remedy)


def with_presets(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree of a fabric file with its presets' keys, and their sources; FabricError for an unknown preset."""
    filled = dict(tree)
    kind = KINDS.get(str(tree.get("kind")))
    for section in SECTIONS:
        own = filled.get(section)
        if is_table(own) and "preset" in own:
            preset = preset_named(section, own["preset"])
            complete, added = _filled(own, preset, is_model=kind is not None and kind.is_model)
            sources, ranges = filled.get("sources", {}), filled.get("ranges", {})
            added_by = {key: f"preset {preset.name}: {text}" for key, text in added.items()}
            filled[section] = complete
            if is_table(ranges):
                stated = {f"{section}.{key}": ends for key, ends in preset.ranges.items()}
                filled["ranges"] = {key: ends for key, ends in stated.items() if key in added} | ranges
            if is_table(sources):  # anything else is a mistake of the file, which its validation names
                filled["sources"] = {**added_by, **sources}
    return filled


def _filled(own: dict[str, Any], preset: Preset, *, is_model: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """A section with the keys that it lacks, and the source of each of these by its full key."""
    complete, added = dict(own), dict[str, str]()
    # bounds of measured machines keep to what no adapter exceeds
    usual = preset.usual if is_model else dict[str, Any]()
    for key, value in {**preset.values, **usual}.items():
        if key not in ("link_rate", "link_latency", *own):
            complete[key] = value
            added[f"{preset.section}.{key}"] = preset.sources[f"{USUAL}.{key}" if key in usual else key]
    for shape, links in LINKS.items():
        if preset.section != "network" or not is_table(own.get(shape)):
            continue
        complete[shape] = dict(own[shape])
        for number, link in product(("rate", "latency"), links):
            name, key = f"{link}_{number}", f"link_{number}"
            if key in preset.values and name not in own[shape]:
                complete[shape][name] = preset.values[key]
                added[f"network.{shape}.{name}"] = preset.sources[key]
    return complete, added
