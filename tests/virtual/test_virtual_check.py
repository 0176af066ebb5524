# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` on eight real hosts of namespaces: a slow cable, a slow host's link, slow memory, a slow processor."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from clusters import ROOT, Installed
from over_fabric import OVER_FABRIC, launcher_over

from made.slow_host import MEMORY, NO_START, PROCESSOR, build_slow_host
from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.fabric import Fabric, load_fabric
from weft.launch.launcher import LaunchRequest
from weft.run.check import Asked, exit_code, run_check
from weft.run.progress import Progress
from weft.store.folder import RunFolder

pytestmark = [*OVER_FABRIC, pytest.mark.long]

#: Asked for, and what a busy host may add: starting eight hosts and their ranks twice takes seconds of two cores.
ASKED_S, MOST_S = 30, 45


def checked(fabric: Fabric, installed: Installed, path: Path, more: Mapping[str, str] | None = None) -> RunFolder:
    """The run of a check, with ``more`` in the environment of its ranks; it ends in time."""
    launcher = launcher_over(fabric, installed)
    plain = launcher.environment

    def environment(request: LaunchRequest) -> dict[str, str]:
        return plain(request) | dict(more or {})

    launcher.environment = environment
    began = time.monotonic()
    folder = run_check(fabric, Asked(time=f"{ASKED_S}s"), launcher, Progress(), path / "run")
    assert time.monotonic() - began < MOST_S
    return folder


def answers(folder: RunFolder) -> list[tuple[str, str, str]]:
    """Id, kind and name of each answer."""
    found = claims_of(CLAIMS.read(folder.path), "answer")
    return [(each["id"], extras(each).get("of", ""), each["subject"]) for each in found]


def test_a_slow_cable_is_named(installed: Installed, tmp_path: Path) -> None:
    folder = checked(load_fabric("virtual-slow-cable"), installed, tmp_path)
    assert answers(folder) == [("check.not-healthy", "cable", "leaf2 - spine0")]
    assert exit_code(folder) == 3


def test_a_host_with_a_slow_link_is_named(installed: Installed, tmp_path: Path) -> None:
    folder = checked(changed(tmp_path, '"node5 - leaf2" = "4 MB/s"'), installed, tmp_path)
    assert answers(folder) == [("check.not-healthy", "node", "node5")]
    assert exit_code(folder) == 3


@pytest.mark.parametrize(("fault", "of"), [(MEMORY, "memory"), (PROCESSOR, "processor")])
def test_a_slow_host_is_no_fault_of_the_network(fault: str, of: str, installed: Installed, tmp_path: Path) -> None:
    library = build_slow_host(tmp_path, "node5", fault)
    folder = checked(changed(tmp_path, ""), installed, tmp_path, {"LD_PRELOAD": str(library)})
    assert (of, "node5") in {each[1:] for each in answers(folder)}
    assert answers(folder)[0][0] == "check.not-healthy"
    assert answers(folder)[0][1] in ("memory", "processor")  # a slow processor copies slowly, too
    assert {name for _, _, name in answers(folder)} == {"node5"}
    assert exit_code(folder) == 3


def test_a_host_that_does_not_start_leaves_the_answer_open(installed: Installed, tmp_path: Path) -> None:
    library = build_slow_host(tmp_path, "node5", NO_START)
    folder = checked(changed(tmp_path, ""), installed, tmp_path, {"LD_PRELOAD": str(library)})
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert answer["id"] == "check.inconclusive"
    assert "this host is broken" in extras(answer)["why"]
    assert exit_code(folder) == 1


def changed(folder: Path, rates: str) -> Fabric:
    """The eight hosts of virtual-slow-cable, with other rates than its own."""
    text = (ROOT / "fabrics/virtual-slow-cable.toml").read_text()
    path = folder / "eight.toml"
    path.write_text(text.replace('"leaf2 - spine0" = "6.25 MB/s"', rates).replace("virtual-slow-cable", "eight"))
    return load_fabric(path)
