# SPDX-License-Identifier: BSD-3-Clause
"""The tables of presets that ``weft fabric presets`` prints."""

from rich.table import Table

from weft.fabric.presets import SECTIONS, Preset, presets

COLUMNS = {
    "node": ("sockets", "cores", "copy_rate", "latency"),
    "network": ("adapter_rate", "latency", "link_latency", "transport"),
}


def preset_tables() -> list[Table]:
    """A table for each section; FabricError if a shipped file cannot be read."""
    return [_table(section, presets(section)) for section in SECTIONS]


def _table(section: str, known: tuple[Preset, ...]) -> Table:
    caption = (
        "copy_rate is worked out from the memory's data sheet" if section == "node" else "rates count data, one way"
    )
    table = Table(title=f"[{section}] preset = ...", title_justify="left", caption=caption, box=None, pad_edge=False)
    for name in ("preset", *COLUMNS[section]):
        table.add_column(name, overflow="fold")
    for each in known:
        table.add_row(each.name, *(str(each.values.get(key, "-")) for key in COLUMNS[section]))
    return table
