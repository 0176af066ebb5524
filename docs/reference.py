# SPDX-License-Identifier: BSD-3-Clause
"""Writes the reference pages when the docs are built: keys of both files from their models, verbs from the program."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from weft.cli.app import app
from weft.fabric.model import Fabric
from weft.kernel.registry import KERNELS
from weft.kernel.studies import write_schema
from weft.study import Study

HERE = Path(__file__).parent
MADE = "% Written by docs/reference.py when the docs are built: do not edit.\n"
Schema = dict[str, Any]


def schema_of(model: type[BaseModel]) -> Schema:
    """JSON schema of a model."""
    return write_schema(TypeAdapter(model).json_schema(mode="validation"))


def resolved(schema: Schema, defs: Schema) -> Schema:
    """The schema that a reference stands for, with what is said beside the reference."""
    for one in (schema, *(each for each in schema.get("anyOf", schema.get("allOf", ())) if "$ref" in each)):
        if "$ref" in one:
            return {
                **defs[one["$ref"].rpartition("/")[2]],
                **{k: v for k, v in schema.items() if k in ("description", "default")},
            }
    return schema


def kind(schema: Schema, defs: Schema) -> str:
    """What may stand as a value, in words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(kind(resolved(each, defs), defs) for each in schema["anyOf"] if each.get("type") != "null")
        )
    if schema.get("type") == "array":
        return f"list of {kind(resolved(schema.get('items', {}), defs), defs)}"
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    name = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "object": "table",
    }
    return " ".join([name.get(str(schema.get("type")), "value"), *limits])


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")


def sections(
    schema: Schema, defs: Schema, name: str, skip: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str, list[str]]]:
    """Each section below a schema: its name in the file, what it is for, the rows of its keys."""
    rows: list[str] = []
    below: list[tuple[str, Schema]] = []
    needed = set(schema.get("required", ()))
    for key, given in schema.get("properties", {}).items():
        if key in skip:
            continue
        found = resolved(given, defs)
        inner = resolved(found.get("items", {}), defs) if found.get("type") == "array" else found
        if inner.get("properties"):
            below.append(
                (
                    f"[{name}{key}]" if found is inner else f"[[{name}{key}]]",
                    {**inner, "description": given.get("description", "")},
                )
            )
            continue
        default = found.get("default", given.get("default"))
        shown = (
            "needed"
            if key in needed
            else (
                f"`{str(default).lower() if isinstance(default, bool) else default}`"
                if default not in (None, "", [], {})
                else ""
            )
        )
        said = cell(given.get("description") or found.get("description") or "")
        rows.append(f"| `{key}` | {cell(kind(found, defs))} | {cell(shown)} | {said} |")
    yield name, schema.get("description", ""), rows
    for title, inner in below:
        yield from ((sub if sub else title, text, made) for sub, text, made in _named(inner, defs, title))


def _named(schema: Schema, defs: Schema, title: str) -> Iterator[tuple[str, str, list[str]]]:
    path = title.strip("[]") + "."
    for name, text, rows in sections(schema, defs, path):
        yield (title if name == path else name), text, rows


def table(rows: list[str]) -> str:
    """Keys as a table."""
    return "\n".join(["| key | value | default | |", "|---|---|---|---|", *rows, ""])


def page(title: str, opening: str, parts: Iterator[tuple[str, str, list[str]]]) -> str:
    """A page of sections."""
    lines = [MADE, f"# {title}", "", opening, ""]
    for name, text, rows in parts:
        heading = name if name.startswith("[") else "At the top of the file"
        first = text.split("\n\n")[0] if name.startswith("[") else ""
        lines += [
            f"## `{heading}`" if name.startswith("[") else f"## {heading}",
            "",
            cell(first),
            "",
            *([table(rows)] if rows else []),
        ]
    return "\n".join(lines)


def fabric_page() -> str:
    """Every key of a fabric file."""
    schema = schema_of(Fabric)
    opening = "Every key of a fabric file, from the model that reads it. An unknown key is refused."
    return page("Keys of a fabric file", opening, sections(schema, schema["$defs"], ""))


def study_page() -> str:
    """Every key of a study file: what all studies share, then each kernel's."""
    base = schema_of(Study)
    opening = "Every key of a study file, from the models that read it: what all studies share, then each kernel's."
    text = page("Keys of a study file", opening, sections(base, base["$defs"], ""))
    shared = frozenset(base["properties"])
    for name, kernel in KERNELS.items():
        schema = schema_of(kernel.study)
        own = [part for part in sections(schema, schema["$defs"], "", shared - {"series"}) if part[2]]
        text += f'\n## With `kernel = "{name}"`\n\n'
        for heading, said, rows in own:
            first = cell(said.split("\n\n")[0]) if heading else ""
            text += f"### `{heading or 'kernel'}` of {name}\n\n{first}\n\n{table(rows)}\n"
    return text


def verbs_page() -> str:
    """Every verb and its options."""
    text = app.generate_docs(output_format="markdown")
    body = text.partition("**Commands**:")[2]
    # cyclopts writes anchors of its own, and headings of the program's name
    body = re.sub(r"\(#weft-[a-z-]*\)", "", re.sub(r"\[(`[^`]+`)\]\(#[^)]*\)", r"\1", body))
    opening = (
        "Every verb with its options, from the program itself. Where to start: [](index.md).\n\n"
        "Exit codes: 0 success; 1 a failed run (a row is invalid, hung or crashed) or gate; 2 a mistake in files or "
        "arguments; 130 after Ctrl-C, SIGTERM, SIGHUP or SIGQUIT; 141 where the reader of the output has gone."
    )
    return f"{MADE}\n# Verbs and options\n\n{opening}\n\n{body}"


PAGES = {"reference-fabric.md": fabric_page, "reference-study.md": study_page, "reference-verbs.md": verbs_page}


def write(folder: Path = HERE) -> None:
    """Write the pages that have changed."""
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
