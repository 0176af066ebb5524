# SPDX-License-Identifier: BSD-3-Clause
"""The walk of docs/five-steps.md: every command of it, as it stands there."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from interposed import LIBRARIES, Site
from traced import compiled, weft_trace

from made.view import load_view
from weft.cli.app import main

COUNT = 1 << 18
LEAST_S = 3 * (1 + 3) * COUNT / 2e9
"""Three times, a message to the next and one to each of three others, by adapters of 2 GB/s."""
PAGE = Path(__file__).parents[2] / "docs" / "five-steps.md"


def block(language: str) -> str:
    """The page's block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    return str(found)


def commands() -> list[list[str]]:
    """The commands of the page, as words behind ``weft``."""
    lines = re.findall(r"^    weft (.*)$", PAGE.read_text(), re.M)
    return [shlex.split(line) for line in lines]


def test_every_command_of_the_walk_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")
    monkeypatch.chdir(tmp_path)
    eight = block("toml")
    Path("eight.toml").write_text(eight)
    Path("four.toml").write_text(eight.replace('"eight"', '"four"').replace("n[0-7]", "n[0-3]"))
    site = Site(LIBRARIES[0])
    compiled(site, "c", tmp_path, block("c")).rename("application")
    first, *others = commands()
    assert first == ["trace", "-o", "run", "--", "mpirun", "-n", "4", "./application"]
    assert weft_trace(tmp_path, [*site.start(4), str(tmp_path / "application")]).returncode == 0
    assert [words[0] for words in others] == ["trace", "trace", "route", "place", "replay", "whatif"]
    for words in others:
        assert main(words) == 0, words
    said = " ".join(capfd.readouterr().out.split())
    assert "four: present carries this traffic at 80 % of injection" in said
    assert "eight: the best 4 nodes carry the traced messages at 100 % of injection" in said
    assert all(Path(name).is_file() for name in ("trace.html", "matrix.svg"))
    network = replayed_s(Path("network"))
    assert network >= LEAST_S  # the network's share alone, and no less than the adapters need
    folder = Path("run/whatif/eight-4-x1")
    found = json.loads((folder / "whatif.json").read_text())
    rows = {row["variant"]: row for row in found["variants"]}
    assert list(rows) == ["unchanged", "placement", "uplinks", "adapter"]
    assert all(row["level"] == "simulated" and row["known_error"] for row in rows.values())
    # how long ranks wait for late ones depends on the traced times; no replay is shorter than computation alone
    assert max(rows["adapter"]["seconds"], rows["uplinks"]["seconds"]) <= 1.001 * rows["unchanged"]["seconds"]
    assert found["bound"]["seconds"] < rows["uplinks"]["seconds"]
    assert "better tables: eight has no forwarding tables" in said
    assert (folder / "whatif.html").is_file()


def replayed_s(run: Path) -> float:
    """Time of a replay in the steady state, in s."""
    (found,) = [r["median_s"] for r in load_view(run).rows if (r["call"], r["phase"]) == ("replay", "warm")]
    return float(found or 0)
