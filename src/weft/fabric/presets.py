# SPDX-License-Identifier: BSD-3-Clause
"""Presets of ``[node]`` and ``[network]``: the numbers of data sheets, by the name of a processor or an adapter.

They are shipped as ``fabrics/presets/node.toml`` and ``network.toml``, each number with its source. A preset is put
into the tree of a fabric file before it is validated, so that nobody who reads a fabric asks whether it has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import FabricError
from weft.fabric.kinds import KINDS
from weft.files.reading import closest, is_table, read_toml
from weft.files.shipped import shipped

SECTIONS = ("node", "network")
USUAL = "usual"
#: Of tara's nine cells from the presets of its processor and adapter, by the model of ``[simulation]``:
#: `weft papers datasheet`, docs/dev/papers-measured.md.
SHEET_ERRORS: Mapping[str, str] = {
    "fair": "34 % in the mean and 79 % at worst",
    "infiniband": "17 % in the mean and 79 % at worst",
}
#: Where the numbers of links between switches go, by the section of the topology.
LINKS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tree": {"link_rate": ("link_rate",), "link_latency": ("link_latency",)},
    "dragonfly": {"link_rate": ("local_rate", "global_rate"), "link_latency": ("local_latency", "global_latency")},
    "torus": {"link_rate": ("link_rate",), "link_latency": ("link_latency",)},
    "dump": {"link_rate": ("link_rate",), "link_latency": ("link_latency",)},
}


@dataclass(frozen=True)
class Preset:
    """Numbers of an adapter or processor, with their ranges and sources."""

    # section, name, title: ``node`` or ``network``, its name, and a line for people
    section: str
    name: str
    title: str
    # values, usual, sources: keys as in a fabric file, what a model takes instead, and where each number comes from
    values: Mapping[str, Any]
    usual: Mapping[str, Any]
    ranges: Mapping[str, list[str]]  # what machines of this kind have, from least to most
    sources: Mapping[str, str]

    def numbers(self, *, is_model: bool) -> dict[str, tuple[Any, str]]:
        """Each number with its source; bounds of measured machines keep to what no adapter exceeds."""
        found = {key: (value, self.sources[key]) for key, value in self.values.items()}
        if is_model:
            found |= {key: (value, self.sources[f"{USUAL}.{key}"]) for key, value in self.usual.items()}
        return found


def presets(section: str) -> tuple[Preset, ...]:
    """All presets of a section, ``node`` or ``network``, in the order of the file; FabricError if it is unreadable."""
    _, tree = read_toml(shipped("fabrics") / "presets" / f"{section}.toml", FabricError)
    return tuple(_preset(section, name, table) for name, table in tree.items())


def preset_named(section: str, name: object) -> Preset:
    """A preset by its name. Raises FabricError: There is none; names the closest one, and all."""
    known = {preset.name: preset for preset in presets(section)}
    if isinstance(name, str) and name in known:
        return known[name]
    near = closest(str(name), known)
    hint = f'did you mean "{near}"? ' if near else ""
    raise FabricError(
        f'"{section}.preset" = {name!r}: no such preset', f"{hint}one of {', '.join(known)} (weft fabric presets)"
    )


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


def _preset(section: str, name: str, table: dict[str, Any]) -> Preset:
    parts = ("title", USUAL, "ranges", "sources")
    values = {key: value for key, value in table.items() if key not in parts}
    return Preset(section, name, table["title"], values, table[USUAL], table["ranges"], table["sources"])


def _filled(own: dict[str, Any], preset: Preset, *, is_model: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """A section with the keys that it lacks, and the source of each of these by its full key."""
    complete, added = dict(own), dict[str, str]()
    links = {key for places in LINKS.values() for key in places}
    for key, (value, source) in preset.numbers(is_model=is_model).items():
        if key not in links and key not in own:
            complete[key] = value
            added[f"{preset.section}.{key}"] = source
    for shape, places in LINKS.items():
        inner = own.get(shape)
        if preset.section != "network" or not is_table(inner):
            continue
        complete[shape] = dict(inner)
        for key, names in places.items():
            for name in names:
                if key in preset.values and name not in inner:
                    complete[shape][name] = preset.values[key]
                    added[f"network.{shape}.{name}"] = preset.sources[key]
    return complete, added
