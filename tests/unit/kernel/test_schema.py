# SPDX-License-Identifier: BSD-3-Clause
"""JSON schemas for editors."""

import json
from pathlib import Path

import pytest

from weft.files.shipped import shipped
from weft.kernel.studies import schemas

STORED = Path(__file__).parents[3] / "schemas"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_the_stored_schemas_are_current(name: str) -> None:
    assert (STORED / name).read_text() == schemas()[name], "run: python -m weft.kernel.studies"


def test_schemas_know_keys_and_units() -> None:
    study = json.loads(schemas()["study.json"])
    assert all(
        study["$defs"][f"{kernel}Study"]["additionalProperties"] is False for kernel in ("Exchange", "Collective")
    )
    assert "nodes" in json.dumps(study["$defs"]["ExchangeSeries"]["properties"])
    fabric = json.loads(schemas()["fabric.json"])
    assert fabric["$defs"]["Node"]["properties"]["copy_rate"]["description"]


def test_shipped_files_name_their_schema_for_editors() -> None:
    for folder, name in (("studies", "study"), ("fabrics", "fabric")):
        for stem in (
            "contention",
            "collectives",
            "bandwidth",
            "biruni-collectives",
            "tara-constant-local",
            "tara",
            "local",
        ):
            path = shipped(folder) / f"{stem}.toml"
            if path.exists():
                assert path.read_text().startswith(f"#:schema ../schemas/{name}.json\n")


def test_there_is_a_schema_for_each_kind_of_file() -> None:
    assert sorted(schemas()) == ["fabric.json", "study.json", "tuning.json"]
