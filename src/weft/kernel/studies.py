# SPDX-License-Identifier: BSD-3-Clause
"""Reading of study files by their kernel's model, and JSON schemas for editors (``python -m weft.kernel.studies``)."""

import json
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from weft.errors import StudyError
from weft.fabric.model import Fabric
from weft.files.reading import is_list, is_table, locate, read_toml, validate
from weft.kernel.registry import KERNELS
from weft.mpi.selection import SelectionTable
from weft.study import Study


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


def load_study(given: str | Path) -> Study:
    """Read a study file, by path or shipped name (``contention``); StudyError names file, key and what is allowed."""
    path = locate(given, "studies", StudyError)
    text, tree = read_toml(path, StudyError)
    return make_study(tree, str(path)).read_from(path, text)


if __name__ == "__main__":
    for name, text in schemas().items():
        (Path(__file__).resolve().parents[3] / "schemas" / name).write_text(text, encoding="utf-8")
