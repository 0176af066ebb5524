# SPDX-License-Identifier: BSD-3-Clause
"""The library's settings of a launch that names the launch which has them."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.store.records import load_launch_record

HERE = {"OMPI_MCA_btl": "self,tcp"}
FIRST = {
    "mpi_library": "Open MPI v4.1.4", "environment": HERE, "settings": HERE | {"btl": "self,tcp"},
    "named_settings": {"btl_tcp_eager_limit": "65536"},
}  # fmt: skip
LATER = {"mpi_library": "Open MPI v4.1.4", "environment": HERE, "settings_of": "g000.l1"}


def written(folder: Path, launch: str, content: dict[str, Any]) -> Path:
    path = folder / f"{launch}.json"
    path.write_text(json.dumps({"schema": "weft-launch/1", "launch": launch, **content}))
    return path


def test_a_later_launch_has_the_settings_of_the_first(tmp_path: Path) -> None:
    written(tmp_path, "g000.l1", FIRST)
    later = load_launch_record(written(tmp_path, "g000.l2", LATER))
    assert later.settings == FIRST["settings"]
    assert later.named_settings == FIRST["named_settings"]


@pytest.mark.parametrize(
    "change",
    [{"mpi_library": "Open MPI v5.0.11"}, {"environment": HERE | {"OMPI_MCA_pml": "ucx"}}, {"environment": {}}],
)
def test_a_first_launch_started_again_in_other_surroundings_gives_none(tmp_path: Path, change: dict[str, Any]) -> None:
    written(tmp_path, "g000.l1", FIRST | change)
    later = load_launch_record(written(tmp_path, "g000.l2", LATER))
    assert later.settings == HERE
    assert later.named_settings == {}


@pytest.mark.parametrize("named", ["g000.l2", "g000.l9"])
def test_a_launch_that_names_itself_or_none_has_its_environment(tmp_path: Path, named: str) -> None:
    later = load_launch_record(written(tmp_path, "g000.l2", LATER | {"settings_of": named}))
    assert later.settings in (HERE, {})
    assert later.named_settings == {}


def test_a_damaged_first_launch_is_not_read(tmp_path: Path) -> None:
    written(tmp_path, "g000.l1", FIRST).write_text("{")
    assert load_launch_record(written(tmp_path, "g000.l2", LATER)).settings == HERE
