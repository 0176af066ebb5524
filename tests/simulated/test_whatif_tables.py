# SPDX-License-Identifier: BSD-3-Clause
"""``weft whatif`` on a machine with forwarding tables of its own: better ones, and what is known without simulating."""

import html
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made.traces import MadeRank
from weft.cli.app import main
from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.importing import import_dump
from weft.fabric.network.build import build_network
from weft.fabric.presets import SHEET_ERRORS
from weft.launch.simulated.simgrid import Programs
from weft.trace.replay import Asked
from weft.whatif import whole

pytestmark = pytest.mark.simulated
DATA = Path(__file__).parents[1] / "data" / "networks"
BLOCK = 4 << 20


@pytest.fixture
def piled(tmp_path: Path, programs: Programs) -> Path:
    """Two leaves of two hosts with two cables each; the tables put all that leaves leaf0 on one of them."""
    present = tmp_path / "piled.dump"
    present.write_text((DATA / "small-lfts.dump").read_text().replace("0x0007 008", "0x0007 007", 1))
    file = tmp_path / "machine" / "piled.toml"
    import_dump(DATA / "small-subnet.lst", file, tables=present)
    text = file.read_text().replace("cores = 1 ", 'memory = "1 GiB"\ncopy_rate = "1000 GB/s"\ncores = 1 ')
    file.write_text(text.replace('# latency = "1.2 us"', 'latency = "1 us"') + '[simulation]\ncollectives = "mpich"\n')
    for rank in range(4):
        made = MadeRank(rank, 4)
        made.call("MPI_Alltoall", 1000, 10**6, bytes=4 * BLOCK, received=4 * BLOCK).write(tmp_path / "trace" / "raw")
    return file


def answers(folder: Path) -> dict[str, Any]:
    (found,) = (folder / "trace" / "whatif").glob("*/whatif.json")
    return json.loads(found.read_text())


def test_better_tables_stand_beside_today(piled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rate = float(build_network(load_fabric(piled)).links.rate.min())
    words = ["whatif", str(tmp_path / "trace"), "--on", str(piled), "--compute", "x0"]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    answer = answers(tmp_path)["claims"][0]
    assert (answer["id"], answer["subject"]) == ("whatif.helps", "better tables")
    assert f"not fitted: {SHEET_ERRORS['fair']}" in said
    rows = {row["variant"]: row for row in answers(tmp_path)["variants"]}
    assert {row["level"] for row in rows.values()} == {"simulated"}
    # a phase for each of three partners; in two of them both hosts of leaf0 share the cable today
    assert rows["tables"]["seconds"] == pytest.approx(3 * BLOCK / rate, rel=0.05)
    assert rows["unchanged"]["seconds"] > 1.2 * rows["tables"]["seconds"]
    page = html.unescape(next((tmp_path / "trace" / "whatif").glob("*/whatif.html")).read_text())
    front = page[page.index('id="front"') : page.index("</section>", page.index('id="front"'))]
    assert "better tables" in front
    assert rows["tables"]["known_error"] in front
    # what a run keeps of its machine is the changed one, which can be read from anywhere
    kept = load_fabric(next((tmp_path / "trace" / "whatif").glob("*/tables")) / "fabric.toml")
    assert build_network(kept).routing.startswith("the tables of tables-")
    better = next((tmp_path / "trace" / "whatif").glob("*/*.lfts"))
    before = better.read_bytes(), better.stat().st_mtime_ns
    assert main(words) == 0  # goes on with the same whole, and simulates nothing again
    assert (better.read_bytes(), better.stat().st_mtime_ns) == before
    assert {row["variant"]: row for row in answers(tmp_path)["variants"]} == rows


def test_what_is_not_simulated_has_the_bound_of_its_fullest_link(
    piled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rate = float(build_network(load_fabric(piled)).links.rate.min())
    piled.write_text(piled.read_text() + 'budget = "1 ms"\n')
    assert main(["whatif", str(tmp_path / "trace"), "--on", str(piled), "--compute", "x0"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "static loads" in said
    assert answers(tmp_path)["card"][0]["id"] == "whatif.untimed"
    rows = {row["variant"]: row for row in answers(tmp_path)["variants"]}
    assert rows["unchanged"]["level"] == rows["tables"]["level"] == "static loads"
    assert rows["unchanged"]["at_least"]
    # two hosts send to two others over one cable; with better tables each host's own link is the fullest
    assert rows["unchanged"]["seconds"] == pytest.approx(4 * BLOCK / rate)
    assert rows["tables"]["seconds"] == pytest.approx(3 * BLOCK / rate)


def test_tables_that_cannot_be_improved_are_left_out_with_the_reason(
    piled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(network: object) -> None:
        raise FabricError("the dump has no GUIDs", "take another dump")

    def same(routes: object, **options: object) -> SimpleNamespace:
        return SimpleNamespace(better=False, tried=7)

    def nobody(line: str) -> None:
        pass

    fabric = load_fabric(piled)
    monkeypatch.setattr(whole, "improve", same)
    words = whole.better_tables(fabric, Asked(4), tmp_path, nobody)
    assert words == "better tables: none of 7 tried is better, and worse on no score (weft route fix)"
    monkeypatch.setattr(whole, "require_addresses", refused)
    assert whole.better_tables(fabric, Asked(4), tmp_path, nobody) == "better tables: the dump has no GUIDs"
