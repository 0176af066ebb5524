# SPDX-License-Identifier: BSD-3-Clause
"""A shipped study, rewritten for the nodes, time and ranks per node that a verb was given."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from weft.errors import StudyError
from weft.fabric.nodeset import expand
from weft.files.reading import locate, read_toml
from weft.files.section import put, put_in_each
from weft.kernel.studies import make_study
from weft.study import Study
from weft.units import parse_seconds


class ShippedStudy:
    """The lines of ``studies/NAME.toml``, with its nodes and ranks per node set; StudyError for values that are none.

    `find_nodes`: called for the node set if ``nodes`` is empty; an empty answer leaves the placement to the fabric.
    `hosts`: the nodes that the series has then. `known`: words that ``ranks_per_node`` may be, each with what the
    study says for it.
    """

    def __init__(
        self,
        name: str,
        nodes: str,
        time: str,
        ranks_per_node: str,
        hosts: tuple[str, ...],
        known: Mapping[str, str],
        find_nodes: Callable[[], str] = str,
    ) -> None:
        self.path = locate(name, "studies", StudyError)
        self.lines = read_toml(self.path, StudyError)[0].splitlines()
        try:
            nodes = nodes or find_nodes()
            self.hosts = expand(nodes) if nodes else hosts
            self.time_s = parse_seconds(time)
            if not self.time_s:
                raise ValueError(f"--time {time}: must be longer than 0 s")
            if ranks_per_node not in known and not (ranks_per_node.isdecimal() and int(ranks_per_node)):
                words = ", ".join(["a number", *known])
                raise ValueError(f"--ranks-per-node {ranks_per_node}: {words}")
        except ValueError as problem:
            example = "give --nodes n[1-8], --time 30s, --ranks-per-node 1"
            raise StudyError(f"weft {name}: {problem}", example) from None
        if nodes:
            put(self.lines, "placement", "nodes", f'"{nodes}"')
        put_in_each(self.lines, "series", "nodes", f"[{max(len(self.hosts), 1)}]")
        put_in_each(self.lines, "series", "ranks_per_node", known.get(ranks_per_node, ranks_per_node))

    @property
    def tree(self) -> dict[str, Any]:
        """The study's sections as they are written so far."""
        return tomllib.loads("\n".join(self.lines))

    def study(self) -> Study:
        """The study as it is written so far."""
        return study_of(self.lines, self.path)


def study_of(lines: list[str], path: Path) -> Study:
    """The study of the lines of a study file."""
    text = "\n".join(lines) + "\n"
    return make_study(tomllib.loads(text), str(path)).read_from(path, text)
