# SPDX-License-Identifier: BSD-3-Clause
"""Nothing but a WeftError may come out of a bad study or fabric file."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.errors import FabricError, StudyError, WeftError
from weft.fabric import Fabric, load_fabric
from weft.files.reading import parse_toml, validate
from weft.files.shipped import shipped
from weft.host import Host, Limit
from weft.kernel.studies import load_study, make_study
from weft.plan.make import make_plan
from weft.study import Study

HOST = Host("here", 2, 2**34, (Limit(2**33, "MemAvailable"),))
LOCAL = Fabric.model_validate({"name": "l", "kind": "local", "node": {"copy_rate": "5 GB/s"}})
SHIPPED = {
    folder: [path.read_text() for path in sorted(shipped(folder).glob("*.toml"))] for folder in ("studies", "fabrics")
}
# Words that get far into the readers, beside anything at all.
WORDS = st.sampled_from(
    [
        "", "exchange", "auto", "1..nodes", "fill", "cores", "512 * N", "p ** p ** p", "1 / 0", "5 s", "1e400 s", "1 %",
        "1 MiB", "-1 B", "n[1-4]", "n[1-", "@all", "[", "a" * 300, "local", "simulated", "fat-tree", "star",
        "compact", "\0",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "name", "title", "kernel", "measure", "placement", "exchange", "series", "nodes", "ranks_per_node", "n", "m",
        "array", "array_most", "scaling", "launches", "budget", "limit", "seed", "precision", "data", "calls", "file",
        "order", "kind", "node", "network", "tree", "groups", "sources", "names", "cores", "memory", "copy_rate",
        "latency", "topology", "node.memory", "batch", "x",
    ]
)  # fmt: skip
LEAVES = st.one_of(
    st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=12), WORDS, st.datetimes(), st.dates()
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(KEYS, st.text(max_size=6)), inner, max_size=6)
    ),
    max_leaves=25,
)
ROOTS = st.dictionaries(st.one_of(KEYS, st.text(max_size=6)), TREES, max_size=8)
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


def read_fabric(tree: dict[str, Any]) -> None:
    validate(Fabric, tree, "f.toml", FabricError)


def read_study(tree: dict[str, Any]) -> None:
    make_plan(make_study(tree, "s.toml"), LOCAL, host=HOST)


def told(read: Callable[..., object], *arguments: object) -> None:
    """Run a reader; a mistake must be one readable message with exit code 1 or 2."""
    try:
        read(*arguments)
    except WeftError as problem:
        assert problem.what
        assert len(str(problem)) < 2000


@given(ROOTS)
@PATIENT
def test_no_tree_gets_past_the_study_reader(tree: dict[str, Any]) -> None:
    told(read_study, {"name": "s", "kernel": "exchange", **tree})
    told(read_study, tree)


@given(ROOTS)
@PATIENT
def test_no_tree_gets_past_the_fabric_reader(tree: dict[str, Any]) -> None:
    told(read_fabric, {"name": "f", "kind": "local", **tree})
    told(read_fabric, tree)


SERIES = {"name": "one", "nodes": [1], "ranks_per_node": [1, 2], "n": 64, "m": 1}


@given(st.dictionaries(st.sampled_from([*SERIES, "array", "array_most", "scaling"]), TREES, max_size=4))
@PATIENT
def test_no_value_of_a_series_gets_past_the_plan(changes: dict[str, Any]) -> None:
    told(read_study, {"name": "s", "kernel": "exchange", "series": [{**SERIES, **changes}]})


@given(st.binary(max_size=200))
@PATIENT
def test_no_bytes_get_past_the_readers(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    told(load_study, path)
    told(load_fabric, path)


@pytest.mark.parametrize(("folder", "load"), [("studies", load_study), ("fabrics", load_fabric)])
@given(seed=st.integers(0, 2**32))
@PATIENT
def test_no_mutated_shipped_file_gets_past_the_readers(
    tmp_path: Path, folder: str, load: Callable[[Path], Study | Fabric], seed: int
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(mutated(random.Random(seed), SHIPPED[folder]), encoding="utf-8")
    told(load, path)


def mutated(chance: random.Random, texts: list[str]) -> str:
    """A shipped file with some lines lost, doubled or mixed up, and some characters changed."""
    lines = chance.choice(texts).splitlines()
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        line = lines[at]
        match chance.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, chance.choice(lines))
            case 2:
                cut = chance.randint(0, len(line))
                lines[at] = line[:cut] + chance.choice('"[]{}=,.0é9-#\\\n') + line[cut + 1 :]
            case 3:
                lines[at] = (
                    line.partition("=")[0]
                    + "="
                    + chance.choice(["-1", '""', "[]", "{}", "nan", '"9e99 GiB"', "1979-05-27"])
                )
            case _:
                lines[at] = line.replace("e", "", 1)
        if not lines:
            return ""
    return "\n".join(lines)


def test_deep_nesting_is_told() -> None:
    told(parse_toml, "a = " + "[" * 100_000, "x", StudyError)
    with pytest.raises(StudyError, match=r"no TOML|too deeply"):
        parse_toml("a = " + "[" * 5000, "x", StudyError)


def test_a_number_of_thousands_of_digits_is_told() -> None:
    with pytest.raises(StudyError, match="not TOML"):
        parse_toml("a = " + "9" * 5000, "x", StudyError)
