# SPDX-License-Identifier: BSD-3-Clause
"""JSON schemas for editors."""

import json
from pathlib import Path

import pytest

from weft.files.shipped import shipped
from weft.kernel.studies import schemas, write

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


def test_schemas_are_written_into_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["fabric.json", "study.json", "tuning.json"]
