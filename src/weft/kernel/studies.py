# SPDX-License-Identifier: BSD-3-Clause
"""Study files read by their kernel's model, some keys overridden; JSON schemas (``python -m weft.kernel.studies``)."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.reading import as_list, is_list, is_table, locate, read_toml, validate
from weft.files.section import put, put_in_each
from weft.kernel.registry import KERNELS
from weft.mpi.alltoall import SelectionTable
from weft.study import Study
from weft.units import parse_seconds

ROOM = 4  # times its budget that an operation's cell may take before it counts as hung, if the limit is too low
QUICK = {"min_samples": 10, "max_samples": 30, "budget": "200 ms"}  # --quick: a first look, with fewer samples


def write_schema(schema: Any) -> Any:
    """The schema without defaults that are numbers in Weft but texts with a unit in files."""
    if is_list(schema):
        return [write_schema(each) for each in schema]
    if not is_table(schema):
        return schema
    unit = schema.get("type") == "string" and not isinstance(schema.get("default"), str)
    return {key: write_schema(value) for key, value in schema.items() if not (unit and key == "default")}


def schemas() -> dict[str, str]:
    """Text of each schema file, by its name."""
    kinds: list[Any] = [kernel.study for kernel in KERNELS.values()]
    studies = reduce(lambda some, one: some | one, kinds)
    found: dict[str, str] = {}
    for name, model in {"study": studies, "fabric": Fabric, "tuning": SelectionTable}.items():
        own = write_schema(TypeAdapter(model).json_schema(mode="validation"))
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **own, "title": f"weft {name}"}
        found[f"{name}.json"] = json.dumps(schema, indent=2) + "\n"
    return found


def make_study(tree: dict[str, Any], source: str) -> Study:
    """The study of a TOML tree, by the model of its kernel; StudyError names ``source``, key and what is allowed."""
    name = tree.get("kernel")
    if not isinstance(name, str) or name not in KERNELS:
        seen = "is missing" if name is None else f"= {name!r} is not known"
        raise StudyError(f'{source}: the key "kernel" {seen}', f"kernels: {', '.join(KERNELS)}")
    return validate(KERNELS[name].study, tree, source, StudyError)


@dataclass(frozen=True)
class Overrides:
    """What to change in a study; what is None or empty stays as it is."""

    nodes: tuple[int, ...] = ()  # node counts of every series
    launches: int | None = None  # starts of the ranks
    budget: str = ""  # measuring time of one operation in one cell and launch: ``2 min``
    quick: bool = False  # few samples (`QUICK`), and nothing explained
    # time of the whole run: ``10 min``. Without it, what is asked of launches or samples ends the study's own time.
    time: str = ""

    def measure(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Keys of ``[measure]`` to change; those by name beat --quick, a limit below the new budget is raised."""
        found: dict[str, Any] = dict(QUICK) if self.quick else {}
        if self.time:
            found["time"] = self.time
        elif "time" in given and (self.quick or self.budget or self.launches is not None):
            found["time"] = "0 s"
        if self.launches is not None:
            found["launches"] = self.launches
        if self.budget:
            found["budget"] = self.budget
            budget_s = parse_seconds(self.budget)
            if "limit" in given and parse_seconds(given["limit"]) <= budget_s:
                found["limit"] = f"{ROOM * budget_s:g} s"
        return found


def parse_nodes(text: str) -> tuple[int, ...]:
    """Node counts of ``2,4``. Raises StudyError: it is not a list of whole numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise StudyError(f"--nodes {text!r} is no list of numbers", "write them with commas: --nodes 2,4") from None


def load_study(given: str | Path, overrides: Overrides = Overrides()) -> Study:
    """Read a study, by path or shipped name (``contention``), some keys overridden; StudyError names the mistake."""
    path = locate(given, "studies", StudyError)
    text, tree = read_toml(path, StudyError)
    if overrides == Overrides():
        return make_study(tree, str(path)).read_from(path, text)
    for key, value in (("budget", overrides.budget), ("time", overrides.time)):
        try:
            parse_seconds(value or "0 s")
        except ValueError as problem:
            raise StudyError(f"--{key} {value!r}: {problem}", f'write a time: --{key} "2 min"') from None
    make_study(tree, str(path))  # a mistake of the file's own is reported as such
    changed = overridden(text, overrides)
    try:
        as_wanted = tomllib.loads(changed) == _wanted(tree, overrides)
    except tomllib.TOMLDecodeError:
        as_wanted = False
    if not as_wanted:
        what = f"{path}: its keys are written in a form that cannot be overridden (over several lines, or inline)"
        raise StudyError(what, "write a copy of the study with the values wanted")
    return make_study(tomllib.loads(changed), f"{path}, overridden").read_from(path, changed)


def overridden(text: str, overrides: Overrides) -> str:
    """The text of a study with other values; all other lines stay as they were."""
    lines = text.splitlines()
    for key, value in overrides.measure(tomllib.loads(text).get("measure", {})).items():
        put(lines, "measure", key, f'"{value}"' if isinstance(value, str) else str(value))
    if overrides.nodes:
        put_in_each(lines, "series", "nodes", str(list(overrides.nodes)))
    if overrides.quick and _explains(tomllib.loads(text)):
        put(lines, "", "explain", "false")
    return "\n".join(lines) + "\n"


def without_launches(text: str) -> Mapping[str, Any] | None:
    """The tree of a study apart from its number of launches and its time; None if it is no TOML."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    measure = tree.get("measure", {})
    return tree | {"measure": {key: value for key, value in measure.items() if key not in ("launches", "time")}}


def _explains(tree: Mapping[str, Any]) -> bool:
    kernel = KERNELS.get(str(tree.get("kernel")))
    return kernel is not None and "explain" in kernel.study.model_fields


def _wanted(tree: Mapping[str, Any], overrides: Overrides) -> dict[str, Any]:
    wanted, measure = dict(tree), tree.get("measure", {})
    if changed := overrides.measure(measure):
        wanted["measure"] = measure | changed
    if overrides.nodes:
        each = {"nodes": list(overrides.nodes)}
        wanted["series"] = [one | each for one in as_list(tree.get("series")) if is_table(one)]
    return wanted | ({"explain": False} if overrides.quick and _explains(tree) else {})


if __name__ == "__main__":
    for name, text in schemas().items():
        (Path(__file__).resolve().parents[3] / "schemas" / name).write_text(text, encoding="utf-8")
