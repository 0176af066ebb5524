# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` on eight real hosts of namespaces: a slow cable, a slow host's link, and a host with slow memory."""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from clusters import ROOT, Installed
from over_fabric import OVER_FABRIC, launcher_over

from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.fabric import Fabric, load_fabric
from weft.launch.launcher import LaunchRequest
from weft.run.check import Asked, exit_code, run_check
from weft.run.progress import Silent
from weft.store.folder import RunFolder

pytestmark = [*OVER_FABRIC, pytest.mark.long]

#: Asked for, and what a busy host may add: starting eight hosts and their ranks twice takes seconds of two cores.
ASKED_S, MOST_S = 30, 45

SLOW_COPIES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
void *memcpy(void *to, void const *from, size_t bytes) {
    static int slow = -1;
    if (slow < 0) {
        char name[64] = "";
        gethostname(name, sizeof name);
        slow = strcmp(name, "node5") == 0;
    }
    for (int turn = 0; turn < (slow && bytes > 1 << 16 ? 12 : 1); ++turn) {
        memmove(to, from, bytes);
    }
    return to;
}
"""


def checked(fabric: Fabric, installed: Installed, path: Path, more: Mapping[str, str] | None = None) -> RunFolder:
    """The run of a check, with ``more`` in the environment of its ranks; it ends in time."""
    launcher = launcher_over(fabric, installed)
    plain = launcher.environment

    def environment(request: LaunchRequest) -> dict[str, str]:
        return plain(request) | dict(more or {})

    launcher.environment = environment
    began = time.monotonic()
    folder = run_check(fabric, Asked(time=f"{ASKED_S}s"), launcher, Silent(), path / "run")
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


def test_slow_memory_of_a_host_is_no_fault_of_the_network(installed: Installed, tmp_path: Path) -> None:
    library = tmp_path / "slow.so"
    words = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(words, input=SLOW_COPIES, text=True, check=True)
    folder = checked(changed(tmp_path, ""), installed, tmp_path, {"LD_PRELOAD": str(library)})
    assert answers(folder)[0] == ("check.not-healthy", "memory", "node5")
    assert {name for _, _, name in answers(folder)} == {"node5"}
    assert exit_code(folder) == 3


def changed(folder: Path, rates: str) -> Fabric:
    """The eight hosts of virtual-slow-cable, with other rates than its own."""
    text = (ROOT / "fabrics/virtual-slow-cable.toml").read_text()
    path = folder / "eight.toml"
    path.write_text(text.replace('"leaf2 - spine0" = "6.25 MB/s"', rates).replace("virtual-slow-cable", "eight"))
    return load_fabric(path)
