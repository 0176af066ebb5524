# SPDX-License-Identifier: BSD-3-Clause
"""The generated reference has every key, verb and option; dead links are found; a built wheel has the schemas."""

import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from pydantic import BaseModel

from weft.cli.app import VERBS, main
from weft.fabric.model import Fabric
from weft.files.section import Section
from weft.kernel.registry import KERNELS

ROOT = Path(__file__).parents[2]


def module(name: str) -> ModuleType:
    """A module of the docs' own."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


REFERENCE = module("reference")


def models_of(annotation: object) -> list[type[BaseModel]]:
    """Sections in an annotation, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_of(part)]


def keys_of(model: type[BaseModel]) -> set[str]:
    """Keys of a model and of the sections below it."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        below = models_of(field.annotation)
        found |= {key for each in below for key in keys_of(each)} if below else {field.alias or name}
    return found


@pytest.mark.parametrize(
    ("page", "model"),
    [
        ("reference-fabric.md", Fabric),
        *(("reference-study.md", kernel.study) for kernel in KERNELS.values()),
    ],
)
def test_every_key_of_a_file_is_on_its_page_with_what_it_is_for(page: str, model: type[BaseModel]) -> None:
    text = REFERENCE.PAGES[page]()
    keys = keys_of(model)
    assert len(keys) > 8
    assert [key for key in sorted(keys) if f"| `{key}` |" not in text] == []
    undescribed = [
        line for line in text.splitlines() if re.match(r"\| `\w+` \|", line) and line.split(" | ")[-1].strip(" |") == ""
    ]
    assert undescribed == []


def test_every_verb_and_each_of_its_options_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    text = REFERENCE.verbs_page()
    for verb in VERBS:
        if verb == "help":
            continue
        assert f"## weft {verb}" in text
        assert main([verb, "--help"]) == 0
        options = set(re.findall(r"(?<!\S)(--[a-z][a-z-]+)", capsys.readouterr().out)) - {"--help", "--version"}
        part = text.partition(f"## weft {verb}\n")[2].partition("\n## weft ")[0]
        assert [option for option in sorted(options) if option not in part] == []


def test_a_page_whose_model_has_a_new_key_is_written_anew(tmp_path: Path) -> None:
    REFERENCE.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(REFERENCE.PAGES)
    page = tmp_path / "reference-study.md"
    page.write_text("old")
    REFERENCE.write(tmp_path)
    assert page.read_text() == REFERENCE.study_page()


def test_dead_links_and_pages_that_fetch_are_found(tmp_path: Path) -> None:
    links = module("links")
    (tmp_path / "a.html").write_text(
        '<h1 id="one"></h1><a href="b.html#two">x</a><a href="#one">y</a><a href="https://x">z</a>'
    )
    (tmp_path / "b.html").write_text('<p id="two"></p><img src="a.html">')
    assert links.faults(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<a href="a.html#none">x</a><a href="c.html">y</a><img src="d.png"><script src="https://cdn/x.js"></script>'
    )
    assert links.faults(tmp_path) == [
        "a.html: b.html#two has no such anchor", "b.html: a.html#none has no such anchor",
        "b.html: c.html does not exist", "b.html: d.png does not exist", "b.html fetches https://cdn/x.js",
    ]  # fmt: skip


def test_links_of_readme_and_contributing_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        targets = re.findall(r"\]\(([^)#]+)", page.read_text())
        assert [each for each in targets if "://" not in each and not (ROOT / each).exists()] == []


def test_a_built_wheel_has_the_schemas_the_studies_and_the_kernels(tmp_path: Path) -> None:
    code = f"from scikit_build_core.build import build_wheel; build_wheel({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("weft-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for schema in (ROOT / "schemas").glob("*.json"):
            assert json.loads(archive.read(f"weft/data/schemas/{schema.name}")) == json.loads(schema.read_text())
    assert {
        "weft/data/studies/contention.toml",
        "weft/data/fabrics/tara.toml",
        "weft/data/native/CMakeLists.txt",
    } <= names
